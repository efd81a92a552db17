#include <tern/tests/simgpu/product.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace simgpu {
namespace {

/// A float with the 10 bits of TF32 behind the point, to nearest even.
float tf32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;  // infinities and NaN
  bits += 0xfffu + ((bits >> 13) & 1u);
  return std::bit_cast<float>(bits & ~0x1fffu);
}

template <class Sum>
Sum round_input(Sum value, InputRounding rounding) {
  switch (rounding) {
    case InputRounding::tf32:
      return tf32(static_cast<float>(value));
    case InputRounding::half:
      return __half2float(__double2half(static_cast<double>(value)));
    case InputRounding::bfloat:
      return __bfloat162float(__double2bfloat16(static_cast<double>(value)));
    case InputRounding::none:
      break;
  }
  return value;
}

/// The elements column by column, without gaps.
template <class Sum>
std::vector<Sum> packed(const Matrix& matrix, InputRounding rounding) {
  std::vector<Sum> values(static_cast<size_t>(matrix.rows * matrix.columns));
  with_type(matrix.type, [&](auto tag) {
    const auto* data = static_cast<const decltype(tag)*>(matrix.data);
    size_t next = 0;
    for (int64_t column = 0; column < matrix.columns; ++column) {
      for (int64_t row = 0; row < matrix.rows; ++row) {
        const auto value = widened(data[row * matrix.row_step + column * matrix.column_step]);
        values[next++] = round_input(static_cast<Sum>(value), rounding);
      }
    }
  });
  return values;
}

/// Four columns of the result at once, in blocks of rows that stay in the nearest cache.
template <class Sum>
void add_columns(const Sum* a, const Sum* const b[4], Sum* const sums[4], int64_t rows, int64_t inner,
                 int64_t from, int64_t to) {
  for (int64_t l = 0; l < inner; ++l) {
    const Sum b0 = b[0][l], b1 = b[1][l], b2 = b[2][l], b3 = b[3][l];
    const Sum* column = a + l * rows;
    for (int64_t i = from; i < to; ++i) {
      sums[0][i] += column[i] * b0;
      sums[1][i] += column[i] * b1;
      sums[2][i] += column[i] * b2;
      sums[3][i] += column[i] * b3;
    }
  }
}

}  // namespace

Matrix Matrix::at(int64_t element) const {
  Matrix moved = *this;
  moved.data = static_cast<const char*>(data) + element * static_cast<int64_t>(size_of(type));
  return moved;
}

Matrix Matrix::on_host() const {
  Matrix here = *this;
  here.data = host(data);
  return here;
}

Access Matrix::access(bool writes) const {
  const size_t size = size_of(type);
  const bool by_columns = row_step == 1;
  const auto run = static_cast<size_t>(by_columns ? rows : columns);
  const auto count = static_cast<size_t>(by_columns ? columns : rows);
  const auto step = static_cast<size_t>(by_columns ? column_step : row_step);
  return {data, run * size, writes, run == 0 ? 0 : count, step * size};
}

Matrix column_major(const void* data, cudaDataType type, cublasOperation_t op, int64_t rows, int64_t columns,
                    int64_t leading) {
  if (op == CUBLAS_OP_N) return {data, type, rows, columns, 1, leading};
  return {data, type, rows, columns, leading, 1};
}

template <class Sum>
std::vector<Sum> multiply(const Matrix& a, const Matrix& b, InputRounding rounding) {
  const int64_t rows = a.rows, inner = a.columns, columns = b.columns;
  const std::vector<Sum> packed_a = packed<Sum>(a, rounding), packed_b = packed<Sum>(b, rounding);
  std::vector<Sum> sums(static_cast<size_t>(rows * columns)), spare(static_cast<size_t>(rows));
  const int64_t block = 256;
  for (int64_t from = 0; from < rows; from += block) {
    const int64_t to = std::min(rows, from + block);
    for (int64_t j = 0; j < columns; j += 4) {
      const Sum* factors[4];
      Sum* results[4];
      for (int64_t c = 0; c < 4; ++c) {
        const bool inside = j + c < columns;
        factors[c] = packed_b.data() + (inside ? j + c : j) * inner;
        results[c] = inside ? sums.data() + (j + c) * rows : spare.data();
      }
      add_columns(packed_a.data(), factors, results, rows, inner, from, to);
    }
  }
  return sums;
}

template std::vector<double> multiply(const Matrix&, const Matrix&, InputRounding);
template std::vector<long double> multiply(const Matrix&, const Matrix&, InputRounding);

bool overlap(const Matrix& a, const Matrix& b) {
  const auto range = [](const Matrix& matrix) {
    const int64_t last = (matrix.rows - 1) * matrix.row_step + (matrix.columns - 1) * matrix.column_step;
    const auto begin = reinterpret_cast<uintptr_t>(matrix.data);
    const bool empty = matrix.rows == 0 || matrix.columns == 0;
    return std::pair(begin, empty ? begin : begin + (static_cast<size_t>(last) + 1) * size_of(matrix.type));
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace simgpu
