// What lies in cuBLASLt's half-opaque descriptors, which may be the user's own variables.
#pragma once

#include <tern/tests/simgpu/library.h>

#include <cublasLt.h>

namespace simgpu::cublaslt {

enum class Mark : uint64_t { live = 0x6c74'6c69'7665'0001, dead = 0x6c74'6465'6164'0001 };

struct Layout {
  static constexpr const char* kind = "cuBLASLt matrix layout";
  Mark mark = Mark::live;
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batch_count = 1;
  uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  int64_t batch_stride = 0;
  int64_t plane_offset = 0;
};

struct Operation {
  static constexpr const char* kind = "cuBLASLt matmul descriptor";
  Mark mark = Mark::live;
  int32_t compute = 0, scale = 0;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N, op_c = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int64_t aux_leading = 0, aux_stride = 0;
  int64_t alpha_stride = 0;
  int32_t sm_count = 0;
  int32_t aux_type = -1, bias_type = -1;
  int8_t fast_accumulation = 0;
  const void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr;
  void* largest_d = nullptr;
  const void* scale_aux = nullptr;
  void* largest_aux = nullptr;
  int32_t mode_a = 0, mode_b = 0, mode_c = 0, mode_d = 0, mode_aux = 0, mode_d_out = 0;
  void* scale_d_out = nullptr;
  void* emulation = nullptr;
};

struct Preference {
  static constexpr const char* kind = "cuBLASLt preference";
  Mark mark = Mark::live;
  uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint64_t workspace = 0;
  uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float waves = 0;
  uint64_t implementation_mask = ~uint64_t{0};
};

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

/// What a descriptor holds; nullptr, after a report, for one that is null, destroyed or never initialised.
template <class Fields>
Fields* fields(void* descriptor, const char* call) {
  auto* found = static_cast<Fields*>(descriptor);
  if (found && found->mark == Mark::live) return found;
  const char* fault = !found                      ? " is null"
                      : found->mark == Mark::dead ? " is already destroyed"
                                                  : " was never initialised";
  report_misuse(call, std::string("the ") + Fields::kind + fault);
  return nullptr;
}

}  // namespace simgpu::cublaslt
