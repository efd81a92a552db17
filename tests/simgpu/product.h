// The matrix product of the stand-ins for cuBLAS and cuBLASLt, on the host, in more precision than any device
// has.
#pragma once

#include <tern/tests/simgpu/library.h>
#include <tern/tests/simgpu/numbers.h>

#include <cublas_v2.h>

#include <vector>

namespace simgpu {

/// A matrix in memory: element (row, column) lies at `row * row_step + column * column_step`, counted in
/// elements.
struct Matrix {
  const void* data = nullptr;  ///< of the device until the work runs
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0, columns = 0;
  int64_t row_step = 1, column_step = 0;

  Matrix transposed() const { return {data, type, columns, rows, column_step, row_step}; }
  Matrix at(int64_t element) const;  ///< the same shape, so many elements on
  Matrix on_host() const;
  Access access(bool writes) const;  ///< the bytes of its elements, without those between the columns
};

/// A column-major matrix of the BLAS; `op` applied.
Matrix column_major(const void* data, cudaDataType type, cublasOperation_t op, int64_t rows, int64_t columns,
                    int64_t leading);

/// What a compute type lets the hardware do to inputs of 32 bits. It shows in the results, so that a program
/// that asks for full precision can be seen to get it.
enum class InputRounding { none, tf32, half, bfloat };

/// sums[i + j * a.rows] = sum over l of a(i, l) * b(l, j). Sum: double or long double.
template <class Sum>
std::vector<Sum> multiply(const Matrix& a, const Matrix& b, InputRounding rounding);

/// Rows and columns of a matrix in memory overlap with those of another.
bool overlap(const Matrix& a, const Matrix& b);

}  // namespace simgpu
