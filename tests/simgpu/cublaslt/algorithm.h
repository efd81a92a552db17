// The algorithms that the stand-in's heuristic answers: what each needs, kept inside of cublasLtMatmulAlgo_t.
#pragma once

#include <tern/tests/simgpu/cublaslt/support.h>

namespace simgpu::cublaslt {

/// `plain` takes any alignment; `fast` wants 16 bytes; `split` as well, and workspace for partial sums.
enum class Kind : int32_t { plain = 1, fast = 2, split = 3 };

struct Algorithm {
  static constexpr uint32_t the_mark = 0x7465'726e;
  uint32_t mark = the_mark;
  Kind kind = Kind::plain;
  uint64_t types = 0;  ///< of the problem it was made for: types, transposes, orders, epilogue
  uint32_t tile = 0, reduction = 0, swizzling = 0, custom = 0, stages = 0;
  int32_t splits = 1;
  uint16_t inner_shape = 0, cluster_shape = 0;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// A number for what an algorithm does not carry over to: everything but sizes and addresses.
uint64_t types_of(const Problem& problem);

uint64_t workspace_of(Kind kind, const Problem& problem);

/// Best first: those whose alignment, workspace and reduction the preference allows.
std::vector<Algorithm> algorithms_for(const Problem& problem, const Preference& preference);

/// nullptr for bytes that no call of this library filled in.
const Algorithm* algorithm(const cublasLtMatmulAlgo_t* algo);

/// The descriptors of a call; false, after a report, if one is unusable.
bool read_problem(Problem& problem, const char* call, cublasLtMatmulDesc_t operation,
                  cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                  cublasLtMatrixLayout_t d);

}  // namespace simgpu::cublaslt
