#include <tern/tests/simgpu/cublaslt/support.h>

#include <cstdlib>
#include <cstring>

namespace simgpu::cublaslt {
namespace {

cudaDataType type_of(const Layout& layout) { return static_cast<cudaDataType>(layout.type); }
bool is_8_bit_float(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
bool is_half(cudaDataType type) { return type == CUDA_R_16F || type == CUDA_R_16BF; }

bool is_possible(const Layout& layout) {
  const uint64_t run = layout.order == CUBLASLT_ORDER_ROW ? layout.columns : layout.rows;
  return size_of(type_of(layout)) > 0 && layout.rows > 0 && layout.columns > 0 && layout.leading >= 0 &&
         static_cast<uint64_t>(layout.leading) >= run && layout.batch_count > 0;
}

bool shapes_fit(const Problem& problem) {
  const Layout &a = problem.a, &b = problem.b, &c = problem.c, &d = problem.d;
  const bool plain_a = problem.operation.op_a == CUBLAS_OP_N, plain_b = problem.operation.op_b == CUBLAS_OP_N;
  const bool inner = (plain_a ? a.columns : a.rows) == (plain_b ? b.rows : b.columns);
  const bool outer = (plain_a ? a.rows : a.columns) == d.rows && (plain_b ? b.columns : b.rows) == d.columns;
  const bool batches =
      a.batch_count == d.batch_count && b.batch_count == d.batch_count && c.batch_count == d.batch_count;
  return inner && outer && batches && c.rows == d.rows && c.columns == d.columns;
}

/// Scales in device memory exist for float8 alone.
bool has_scales(const Operation& op) {
  return op.scale_a || op.scale_b || op.scale_c || op.scale_d || op.largest_d || op.scale_aux ||
         op.largest_aux;
}

bool known_epilogue(uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return true;
    default:
      return false;
  }
}

/// The aux matrix: ReLU's bits want a leading dimension that is a multiple of 128, GELU's input one of 8.
bool aux_is_possible(const Problem& problem) {
  const Operation& op = problem.operation;
  if (!problem.has(epilogue_aux)) return true;
  const int64_t multiple = problem.has(epilogue_relu | epilogue_drelu) ? 128 : 8;
  return op.aux_leading % multiple == 0 && op.aux_leading >= problem.rows() && op.aux_stride % multiple == 0;
}

bool float8_is_listed(const Problem& problem) {
  const cudaDataType a = type_of(problem.a), b = type_of(problem.b), c = type_of(problem.c),
                     d = type_of(problem.d);
  const Operation& op = problem.operation;
  const bool factors =
      is_8_bit_float(a) && is_8_bit_float(b) && !(a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2);
  const bool result = d == c ? is_half(c) || c == CUDA_R_32F
                             : is_half(c) && (d == CUDA_R_8F_E4M3 || (d == CUDA_R_8F_E5M2 && a != b));
  const bool compute = op.compute == CUBLAS_COMPUTE_32F && op.scale == CUDA_R_32F;
  const bool transposed = op.op_a == CUBLAS_OP_T && op.op_b == CUBLAS_OP_N;
  const bool modes = !op.mode_a && !op.mode_b && !op.mode_c && !op.mode_d && !op.mode_aux && !op.mode_d_out;
  bool aligned = true;
  for (const Layout* layout : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    aligned = aligned && is_aligned(*layout) && layout->order == CUBLASLT_ORDER_COL;
  }
  return factors && result && compute && transposed && modes && aligned && compute_capability() >= 89 &&
         !problem.has(epilogue_aux);
}

/// 8-bit integers: transposed times plain, in fours.
bool int8_is_listed(const Problem& problem) {
  const Operation& op = problem.operation;
  const bool wide = op.scale == CUDA_R_32I && type_of(problem.c) == CUDA_R_32I;
  const bool narrow = op.scale == CUDA_R_32F && type_of(problem.c) == CUDA_R_8I;
  const bool fours = problem.rows() % 4 == 0 && problem.inner() % 4 == 0 && problem.a.leading % 4 == 0 &&
                     problem.b.leading % 4 == 0 && problem.c.leading % 4 == 0 && problem.d.leading % 4 == 0;
  if (wide && op.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return false;
  return (wide || narrow) && fours && op.op_a == CUBLAS_OP_T && op.op_b == CUBLAS_OP_N &&
         type_of(problem.a) == CUDA_R_8I && !problem.has(epilogue_aux);
}

/// The table of cublasLtMatmul's documentation for regular matrices.
bool types_are_listed(const Problem& problem) {
  const cudaDataType in = type_of(problem.a), out = type_of(problem.d);
  const Operation& op = problem.operation;
  if (is_8_bit_float(in) || is_8_bit_float(type_of(problem.b))) return float8_is_listed(problem);
  if (type_of(problem.b) != in || type_of(problem.c) != out) return false;
  switch (op.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return op.scale == CUDA_R_16F && in == CUDA_R_16F && out == CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return int8_is_listed(problem);
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return op.scale == CUDA_R_64F && in == CUDA_R_64F && out == CUDA_R_64F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (is_half(in) && op.scale == CUDA_R_32F) return out == in || out == CUDA_R_32F;
      if (in == CUDA_R_8I && op.scale == CUDA_R_32F)
        return out == CUDA_R_32F && op.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
      [[fallthrough]];
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return op.scale == CUDA_R_32F && in == CUDA_R_32F && out == CUDA_R_32F;
    default:
      return false;
  }
}

/// Bias and aux in the one type that goes with the result; several products share no bias gradient.
bool epilogue_is_listed(const Problem& problem) {
  const Operation& op = problem.operation;
  if (op.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  const char* refused = std::getenv("SIMGPU_NO_CUBLASLT");
  if (refused && std::strcmp(refused, "epilogue") == 0) return false;
  if (problem.d.order != CUBLASLT_ORDER_COL) return false;
  const bool gradient =
      problem.has(epilogue_bias_gradient | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
  if (gradient && problem.d.batch_count > 1) return false;
  Problem by_default = problem;
  by_default.operation.bias_type = by_default.operation.aux_type = -1;
  const bool gelu = problem.has(epilogue_gelu | epilogue_dgelu) && problem.has(epilogue_aux);
  return problem.bias_type() == by_default.bias_type() &&
         (!gelu || problem.aux_type() == by_default.aux_type());
}

bool layouts_are_listed(const Problem& problem) {
  for (const Layout* layout : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW) return false;
    if (layout->batch_mode != CUBLASLT_BATCH_MODE_STRIDED || layout->plane_offset != 0) return false;
  }
  return problem.c.order == problem.d.order;
}

bool pointer_mode_is_listed(const Problem& problem) {
  const int mode = problem.operation.pointer_mode;
  if (mode == CUBLASLT_POINTER_MODE_HOST || mode == CUBLASLT_POINTER_MODE_DEVICE) return true;
  return mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST && type_of(problem.a) == CUDA_R_8I;
}

}  // namespace

bool Problem::is_float8() const { return is_8_bit_float(type_of(a)); }

cudaDataType Problem::bias_type() const {
  if (operation.bias_type >= 0) return static_cast<cudaDataType>(operation.bias_type);
  const cudaDataType result = type_of(d);
  if (result == CUDA_R_8I) return CUDA_R_32F;
  if (!is_float8() || is_half(result)) return result;
  return type_of(c) == CUDA_R_16F ? CUDA_R_16F : CUDA_R_16BF;
}

cudaDataType Problem::aux_type() const {
  return operation.aux_type >= 0 ? static_cast<cudaDataType>(operation.aux_type) : type_of(d);
}

bool is_aligned(const Layout& layout) {
  const auto size = static_cast<int64_t>(size_of(type_of(layout)));
  const bool strides = layout.batch_count == 1 || layout.batch_stride * size % fast_alignment == 0;
  return layout.leading * size % fast_alignment == 0 && strides;
}

cublasStatus_t check_support(const Problem& problem) {
  const Operation& op = problem.operation;
  bool possible = shapes_fit(problem) && known_epilogue(op.epilogue) && aux_is_possible(problem);
  for (const Layout* layout : {&problem.a, &problem.b, &problem.c, &problem.d}) {
    possible = possible && is_possible(*layout);
  }
  if (!possible || (has_scales(op) && !problem.is_float8())) return CUBLAS_STATUS_INVALID_VALUE;
  const char* refused = std::getenv("SIMGPU_NO_CUBLASLT");
  if (refused && std::strcmp(refused, "1") == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool listed = types_are_listed(problem) && epilogue_is_listed(problem) &&
                      layouts_are_listed(problem) && pointer_mode_is_listed(problem) &&
                      op.op_c == CUBLAS_OP_N && !op.emulation && op.fill_mode == CUBLAS_FILL_MODE_FULL &&
                      !op.scale_d_out;
  return listed ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace simgpu::cublaslt
