// cublasLtMatmul: D = epilogue(alpha op(A) op(B) + beta C), in more precision than any device has, rounded
// once.
#include <tern/tests/simgpu/cublaslt/algorithm.h>
#include <tern/tests/simgpu/cublaslt/epilogue.h>
#include <tern/tests/simgpu/cublaslt/handle.h>

#include <algorithm>
#include <cstring>

namespace simgpu::cublaslt {
namespace {

const char* const call = "cublasLtMatmul";

struct Pointers {
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  void* workspace;
  uint64_t workspace_bytes;
};

Matrix matrix(const Layout& layout, const void* data, int32_t op, int64_t which) {
  const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.columns);
  const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  const Matrix stored = {data,    static_cast<cudaDataType>(layout.type), rows,
                         columns, by_rows ? layout.leading : 1,           by_rows ? 1 : layout.leading};
  return (op == CUBLAS_OP_N ? stored : stored.transposed()).at(which * layout.batch_stride);
}

/// alpha and beta: single numbers, or for alpha one a row.
class Factors {
 public:
  Factors(const Problem& problem, const Pointers& at)
      : type_(static_cast<cudaDataType>(problem.operation.scale)),
        alpha_on_device_(problem.operation.pointer_mode != CUBLASLT_POINTER_MODE_HOST),
        beta_on_device_(problem.operation.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE),
        by_row_(problem.operation.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST),
        stride_(problem.operation.alpha_stride),
        at_(at) {
    if (!alpha_on_device_) alpha_ = from_host(at.alpha);
    if (!beta_on_device_) beta_ = from_host(at.beta);
  }

  /// Of each row.
  std::vector<long double> alpha(int64_t which, int64_t rows) const {
    std::vector<long double> result(static_cast<size_t>(rows), alpha_);
    if (!alpha_on_device_) return result;
    const void* from = host(at_.alpha);
    for (int64_t row = 0; row < rows; ++row) {
      result[static_cast<size_t>(row)] = load(from, type_, by_row_ ? which * stride_ + row : 0);
    }
    return result;
  }
  long double beta() const { return beta_on_device_ ? load(host(at_.beta), type_, 0) : beta_; }
  bool surely_reads_c() const { return !beta_on_device_ && beta_ != 0; }

  void add_accesses(std::vector<Access>& accesses, const Problem& problem) const {
    const size_t size = size_of(type_);
    if (alpha_on_device_) accesses.push_back({at_.alpha, size * (by_row_ ? problem.d.rows : 1), false});
    if (beta_on_device_) accesses.push_back({at_.beta, size, false});
  }

 private:
  long double from_host(const void* pointer) const {
    if (device_of(pointer) < 0) return load(pointer, type_, 0);
    report_misuse(call, "alpha or beta lies in device memory, but the pointer mode is host");
    return 0;
  }

  cudaDataType type_;
  bool alpha_on_device_, beta_on_device_, by_row_;
  int64_t stride_;
  Pointers at_;
  long double alpha_ = 0, beta_ = 0;
};

InputRounding input_rounding(const Problem& problem) {
  if (problem.a.type != CUDA_R_32F) return InputRounding::none;
  switch (problem.operation.compute) {
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return InputRounding::half;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return InputRounding::bfloat;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return InputRounding::tf32;
    default:
      return InputRounding::none;
  }
}

long double scale_at(const void* pointer) { return pointer ? load(host(pointer), CUDA_R_32F, 0) : 1; }

template <class Sum>
void compute(const Problem& problem, const Pointers& at, const Factors& factors, int64_t which,
             Sum& largest) {
  const Operation& op = problem.operation;
  const Matrix a = matrix(problem.a, at.a, op.op_a, which).on_host();
  const Matrix b = matrix(problem.b, at.b, op.op_b, which).on_host();
  const Matrix c = matrix(problem.c, at.c, CUBLAS_OP_N, which).on_host();
  const Matrix d = matrix(problem.d, at.d, CUBLAS_OP_N, which).on_host();
  const auto by = static_cast<Sum>(scale_at(op.scale_a) * scale_at(op.scale_b));
  const std::vector<long double> alpha = factors.alpha(which, d.rows);
  const auto keep = static_cast<Sum>(factors.beta() * scale_at(op.scale_c));
  const auto last = static_cast<Sum>(scale_at(op.scale_d));
  const std::vector<Sum> sums = multiply<Sum>(a, b, input_rounding(problem));
  Epilogue<Sum> epilogue(problem, which);
  for (int64_t j = 0; j < d.columns; ++j) {
    for (int64_t i = 0; i < d.rows; ++i) {
      Sum value =
          by * static_cast<Sum>(alpha[static_cast<size_t>(i)]) * sums[static_cast<size_t>(i + j * d.rows)];
      if (keep != 0)
        value += keep * static_cast<Sum>(load(c.data, c.type, i * c.row_step + j * c.column_step));
      value = epilogue.apply(value, i, j);
      largest = std::max(largest, std::abs(value));
      store(const_cast<void*>(d.data), d.type, i * d.row_step + j * d.column_step, last * value);
    }
  }
  epilogue.finish();
  if (problem.has(CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) sum_over_inner(problem, a, b);
}

template <class Sum>
void compute_all(const Problem& problem, const Pointers& at, const Factors& factors) {
  // Partial sums lie in the workspace: whoever keeps something there loses it.
  if (at.workspace_bytes > 0) std::memset(host(at.workspace), 0xff, at.workspace_bytes);
  Sum largest = 0;
  for (int64_t i = 0; i < problem.d.batch_count; ++i) compute<Sum>(problem, at, factors, i, largest);
  if (problem.operation.largest_d) store(host(problem.operation.largest_d), CUDA_R_32F, 0, largest);
}

std::vector<Access> accesses_of(const Problem& problem, const Pointers& at, const Factors& factors) {
  std::vector<Access> accesses;
  factors.add_accesses(accesses, problem);
  const Operation& op = problem.operation;
  for (const void* scale : {op.scale_a, op.scale_b, op.scale_c, op.scale_d}) {
    if (scale) accesses.push_back({scale, sizeof(float), false});
  }
  for (int64_t i = 0; i < problem.d.batch_count; ++i) {
    const Matrix a = matrix(problem.a, at.a, op.op_a, i), b = matrix(problem.b, at.b, op.op_b, i);
    const Matrix c = matrix(problem.c, at.c, CUBLAS_OP_N, i), d = matrix(problem.d, at.d, CUBLAS_OP_N, i);
    accesses.push_back(a.access(false));
    accesses.push_back(b.access(false));
    if (factors.surely_reads_c()) accesses.push_back(c.access(false));
    accesses.push_back(d.access(true));
    if (overlap(d, a) || overlap(d, b)) report_misuse(call, "the result overlaps with a factor");
    if (at.c != at.d && factors.surely_reads_c() && overlap(d, c)) report_misuse(call, "D overlaps with C");
  }
  add_accesses(accesses, problem);
  if (op.largest_d) accesses.push_back({op.largest_d, sizeof(float), true});
  if (at.workspace_bytes > 0) accesses.push_back({at.workspace, at.workspace_bytes, true});
  return accesses;
}

bool is_aligned_for(Kind kind, const Problem& problem, const Pointers& at) {
  const Operation& op = problem.operation;
  const auto is_multiple = [](const void* pointer, uint64_t bytes) {
    return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
  };
  const std::pair<const void*, uint32_t> matrices[] = {
      {at.a, problem.a.type}, {at.b, problem.b.type}, {at.c, problem.c.type}, {at.d, problem.d.type}};
  for (const auto& [pointer, type] : matrices) {
    const uint64_t element = size_of(static_cast<cudaDataType>(type));
    if (!is_multiple(pointer, kind == Kind::plain
                                  ? std::max<uint64_t>(element, problem.a.type == CUDA_R_8I ? 4 : 1)
                                  : fast_alignment)) {
      return false;
    }
  }
  return kind == Kind::plain ||
         (is_multiple(op.bias, fast_alignment) && is_multiple(op.aux, fast_alignment) &&
          is_aligned(problem.a) && is_aligned(problem.b) && is_aligned(problem.d));
}

/// What the call itself got wrong, the descriptors being fine.
cublasStatus_t check_call(const Problem& problem, const Pointers& at, Kind kind) {
  const Operation& op = problem.operation;
  const bool has_bias = problem.has(epilogue_bias | epilogue_bias_gradient | CUBLASLT_EPILOGUE_BGRADA |
                                    CUBLASLT_EPILOGUE_BGRADB);
  const bool missing = !at.alpha || !at.beta || !at.a || !at.b || !at.d || (has_bias && !op.bias) ||
                       (problem.has(epilogue_aux) && !op.aux);
  const bool same_c =
      at.c != at.d || (problem.c.leading == problem.d.leading && problem.c.type == problem.d.type &&
                       problem.c.batch_stride == problem.d.batch_stride);
  const uint64_t needed = workspace_of(kind, problem);
  const bool workspace = needed <= at.workspace_bytes && (needed == 0 || at.workspace) &&
                         reinterpret_cast<uintptr_t>(at.workspace) % 256 == 0;
  if (missing || !same_c || !workspace) return CUBLAS_STATUS_INVALID_VALUE;
  return is_aligned_for(kind, problem, at) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/// The algorithm of the call, or the best that its workspace and pointers allow.
cublasStatus_t choose(const cublasLtMatmulAlgo_t* algo, const Problem& problem, const Pointers& at,
                      Kind& kind) {
  if (algo) {
    const Algorithm* chosen = algorithm(algo);
    if (!chosen) return CUBLAS_STATUS_INVALID_VALUE;
    kind = chosen->kind;
    return chosen->types == types_of(problem) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Preference preference = {.workspace = at.workspace_bytes};
  for (const Algorithm& candidate : algorithms_for(problem, preference)) {
    kind = candidate.kind;
    if (is_aligned_for(kind, problem, at)) return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t matmul(const Problem& problem, Pointers at, const cublasLtMatmulAlgo_t* algo,
                      cudaStream_t stream) {
  Kind kind = Kind::plain;
  cublasStatus_t status = check_support(problem);
  if (status == CUBLAS_STATUS_SUCCESS) status = choose(algo, problem, at, kind);
  if (status == CUBLAS_STATUS_SUCCESS) status = check_call(problem, at, kind);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  at.workspace_bytes = workspace_of(kind, problem);
  const Factors factors(problem, at);
  const auto work = [=] {
    if (problem.d.type == CUDA_R_64F) {
      compute_all<long double>(problem, at, factors);
    } else {
      compute_all<double>(problem, at, factors);
    }
  };
  const cudaError_t error = enqueue(stream, call, accesses_of(problem, at, factors), work);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace simgpu::cublaslt

using namespace simgpu::cublaslt;

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  const cublasStatus_t status = check(handle, call, stream);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Problem problem;
  if (!read_problem(problem, call, operation, layout_a, layout_b, layout_c, layout_d))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (simgpu::injected("cublaslt")) return CUBLAS_STATUS_EXECUTION_FAILED;
  return matmul(problem, {alpha, a, b, beta, c, d, workspace, workspace_bytes}, algo, stream);
}
