#include <tern/tests/simgpu/cublas/gemm.h>

#include <algorithm>
#include <memory>

namespace simgpu::cublas {
namespace {

int math_mode(cublasHandle_t handle) {
  return handle->math_mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
}

bool is_32f(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
}

/// The type of alpha and beta if cublasGemmEx lists the combination; else CUDA_C_8I, which it never is.
cudaDataType scale_type(const Gemm& asked) {
  const cudaDataType in = asked.a.type, out = asked.c.type, none = CUDA_C_8I;
  if (asked.b.type != in) return none;
  switch (asked.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return in == CUDA_R_16F && out == CUDA_R_16F ? CUDA_R_16F : none;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return in == CUDA_R_8I && out == CUDA_R_32I ? CUDA_R_32I : none;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return in == CUDA_R_64F && out == CUDA_R_64F ? CUDA_R_64F : none;
    default:
      break;
  }
  if (in == CUDA_R_32F && out == CUDA_R_32F) return CUDA_R_32F;
  if (!is_32f(asked.compute)) return none;
  const bool half = in == CUDA_R_16F || in == CUDA_R_16BF;
  if (half && (out == in || out == CUDA_R_32F)) return CUDA_R_32F;
  return in == CUDA_R_8I && out == CUDA_R_32F ? CUDA_R_32F : none;
}

InputRounding input_rounding(cublasHandle_t handle, const Gemm& asked) {
  if (asked.a.type != CUDA_R_32F) return InputRounding::none;
  const bool mode = math_mode(handle) == CUBLAS_TF32_TENSOR_OP_MATH;
  switch (asked.compute) {
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return InputRounding::half;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return InputRounding::bfloat;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return InputRounding::tf32;
    case CUBLAS_COMPUTE_32F:
      return mode ? InputRounding::tf32 : InputRounding::none;
    default:
      return InputRounding::none;
  }
}

bool is_operation(cublasOperation_t op) {
  return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

cublasStatus_t check_arguments(const Gemm& asked) {
  const bool known = is_operation(asked.op_a) && is_operation(asked.op_b);
  const bool sizes = asked.m >= 0 && asked.n >= 0 && asked.k >= 0 && asked.count >= 0;
  const int64_t rows_a = asked.op_a == CUBLAS_OP_N ? asked.m : asked.k;
  const int64_t rows_b = asked.op_b == CUBLAS_OP_N ? asked.k : asked.n;
  const auto wide = [](const Operand& operand, int64_t rows) {
    return operand.leading >= std::max<int64_t>(1, rows);
  };
  const bool leading = wide(asked.a, rows_a) && wide(asked.b, rows_b) && wide(asked.c, asked.m);
  if (!known || !sizes || !leading || !asked.alpha || !asked.beta) return CUBLAS_STATUS_INVALID_VALUE;
  if (scale_type(asked) == CUDA_C_8I) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (asked.a.type == CUDA_R_8I) {  // four at a time
    const bool aligned = asked.a.leading % 4 == 0 && asked.b.leading % 4 == 0;
    if (!aligned) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// The matrices of one product of the batch; `pointers` as the work finds them.
struct Triple {
  Matrix a, b, c;
};

Triple matrices(const Gemm& asked, int64_t which, bool through_pointers) {
  const auto matrix = [&](const Operand& operand, cublasOperation_t op, int64_t rows, int64_t columns) {
    if (through_pointers) {
      const auto* pointers = static_cast<const void* const*>(host(operand.data));
      return column_major(pointers[which], operand.type, op, rows, columns, operand.leading);
    }
    return column_major(operand.data, operand.type, op, rows, columns, operand.leading)
        .at(which * operand.stride);
  };
  return {matrix(asked.a, asked.op_a, asked.m, asked.k), matrix(asked.b, asked.op_b, asked.k, asked.n),
          matrix(asked.c, CUBLAS_OP_N, asked.m, asked.n)};
}

template <class Sum>
void run(const Triple& at, long double alpha, long double beta, InputRounding rounding) {
  const Matrix c = at.c.on_host();
  const std::vector<Sum> sums = multiply<Sum>(at.a.on_host(), at.b.on_host(), rounding);
  with_type(c.type, [&](auto tag) {
    using T = decltype(tag);
    auto* data = static_cast<T*>(const_cast<void*>(c.data));
    for (int64_t j = 0; j < c.columns; ++j) {
      for (int64_t i = 0; i < c.rows; ++i) {
        T& element = data[i + j * c.column_step];
        Sum value = static_cast<Sum>(alpha) * sums[static_cast<size_t>(i + j * c.rows)];
        if (beta != 0) value += static_cast<Sum>(beta) * static_cast<Sum>(widened(element));
        element = rounded<T>(value);
      }
    }
  });
}

void run(const Triple& at, long double alpha, long double beta, InputRounding rounding) {
  if (at.c.type == CUDA_R_64F) {
    run<long double>(at, alpha, beta, rounding);
  } else {
    run<double>(at, alpha, beta, rounding);
  }
}

void add_accesses(std::vector<Access>& accesses, const Triple& at, bool reads_c) {
  accesses.push_back(at.a.access(false));
  accesses.push_back(at.b.access(false));
  if (reads_c) accesses.push_back(at.c.access(false));
  accesses.push_back(at.c.access(true));
}

void check_overlap(const Gemm& asked, const Triple& at) {
  if (asked.k == 0) return;
  if (overlap(at.c, at.a) || overlap(at.c, at.b))
    report_misuse(asked.call, "the result overlaps with a factor");
}

}  // namespace

cublasComputeType_t compute_type(cublasHandle_t handle, cudaDataType type) {
  const bool pedantic = math_mode(handle) == CUBLAS_PEDANTIC_MATH;
  switch (type) {
    case CUDA_R_16F:
      return pedantic ? CUBLAS_COMPUTE_16F_PEDANTIC : CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
      return pedantic ? CUBLAS_COMPUTE_64F_PEDANTIC : CUBLAS_COMPUTE_64F;
    default:
      return pedantic ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  }
}

cublasStatus_t gemm(cublasHandle_t handle, const Gemm& asked) {
  cublasStatus_t status = check_computing(handle, asked.call);
  if (status == CUBLAS_STATUS_SUCCESS) status = check_arguments(asked);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (asked.m == 0 || asked.n == 0 || asked.count == 0) return CUBLAS_STATUS_SUCCESS;
  const cudaDataType scale = scale_type(asked);
  const Scalar alpha(handle, asked.alpha, scale), beta(handle, asked.beta, scale);
  const InputRounding rounding = input_rounding(handle, asked);
  const bool through_pointers = asked.batch == Batch::pointers;
  std::vector<Access> accesses;
  alpha.add_access(accesses);
  beta.add_access(accesses);
  if (through_pointers) {
    for (const Operand* operand : {&asked.a, &asked.b, &asked.c}) {
      accesses.push_back({operand->data, static_cast<size_t>(asked.count) * sizeof(void*), false});
    }
  }
  for (int64_t i = 0; !through_pointers && i < asked.count; ++i) {
    const Triple at = matrices(asked, i, false);
    check_overlap(asked, at);
    add_accesses(accesses, at, beta.counts());
  }
  const auto work = [=] {
    for (int64_t i = 0; i < asked.count; ++i) {
      const Triple at = matrices(asked, i, through_pointers);
      std::vector<Access> touched;
      add_accesses(touched, at, beta.value() != 0);
      if (through_pointers) check_accesses(touched);
      run(at, alpha.value(), beta.value(), rounding);
    }
  };
  const auto scratch = static_cast<size_t>(asked.m * asked.n) * sizeof(float);
  return launch(handle, asked.call, std::move(accesses), work, scratch);
}

}  // namespace simgpu::cublas
