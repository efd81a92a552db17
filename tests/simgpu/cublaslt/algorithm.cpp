#include <tern/tests/simgpu/cublaslt/algorithm.h>

namespace simgpu::cublaslt {
namespace {

bool is_multiple(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % fast_alignment == 0; }

/// Leading dimensions, strides and the epilogue's pointers as the descriptors have them.
bool may_be_fast(const Problem& problem) {
  const Operation& op = problem.operation;
  bool aligned = is_multiple(op.bias) && is_multiple(op.aux);
  for (const Layout* layout : {&problem.a, &problem.b, &problem.c, &problem.d})
    aligned = aligned && is_aligned(*layout);
  return aligned;
}

}  // namespace

uint64_t types_of(const Problem& problem) {
  uint64_t hash = 0xcbf2'9ce4'8422'2325u;
  const auto mix = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x100'0000'01b3u; };
  const Operation& op = problem.operation;
  for (int64_t value : {op.compute, op.scale, op.op_a, op.op_b, op.pointer_mode}) mix(value);
  mix(op.epilogue);
  for (const Layout* layout : {&problem.a, &problem.b, &problem.c, &problem.d})
    mix(layout->type), mix(layout->order);
  return hash;
}

uint64_t workspace_of(Kind kind, const Problem& problem) {
  if (kind != Kind::split) return 0;
  return problem.d.rows * problem.d.columns * static_cast<uint64_t>(problem.d.batch_count) * sizeof(float);
}

std::vector<Algorithm> algorithms_for(const Problem& problem, const Preference& preference) {
  std::vector<Algorithm> found;
  const auto add = [&](Kind kind) {
    found.push_back({.kind = kind, .types = types_of(problem)});
    if (kind == Kind::split)
      found.back().splits = 2, found.back().reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  };
  bool fast = may_be_fast(problem);
  for (uint32_t alignment :
       {preference.alignment_a, preference.alignment_b, preference.alignment_c, preference.alignment_d}) {
    fast = fast && alignment % fast_alignment == 0;
  }
  const bool reduces = preference.reduction_mask & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (fast && reduces && workspace_of(Kind::split, problem) <= preference.workspace) add(Kind::split);
  if (fast) add(Kind::fast);
  if (!problem.is_float8()) add(Kind::plain);
  return found;
}

const Algorithm* algorithm(const cublasLtMatmulAlgo_t* algo) {
  const auto* found = reinterpret_cast<const Algorithm*>(algo);
  return found && found->mark == Algorithm::the_mark ? found : nullptr;
}

bool read_problem(Problem& problem, const char* call, cublasLtMatmulDesc_t operation,
                  cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                  cublasLtMatrixLayout_t d) {
  const auto* op = fields<Operation>(operation, call);
  if (!op) return false;
  problem.operation = *op;
  const std::pair<void*, Layout*> layouts[] = {
      {a, &problem.a}, {b, &problem.b}, {c, &problem.c}, {d, &problem.d}};
  for (const auto& [descriptor, into] : layouts) {
    const auto* layout = fields<Layout>(descriptor, call);
    if (!layout) return false;
    *into = *layout;
  }
  return true;
}

}  // namespace simgpu::cublaslt
