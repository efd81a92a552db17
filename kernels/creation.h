// New tensors: constants, numbers from the program, sequences, random numbers.
//
// Random ones draw from `generator`, by default that of the device (manual_seed() seeds all).
#pragma once

#include <tern/core/random.h>
#include <tern/core/scalar.h>
#include <tern/core/tensor.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

namespace tern {

Tensor zeros(const Shape& shape, DType dtype = float32, Device device = {});
Tensor ones(const Shape& shape, DType dtype = float32, Device device = {});
/// Throws Error for a number that `dtype` does not hold: 300 or -1 for uint8, NaN for an integer type, 1e300
/// for float32. Fractions are cut off for integers.
Tensor full(const Shape& shape, Scalar value, DType dtype = float32, Device device = {});
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
/// As full().
Tensor full_like(const Tensor& x, Scalar value);
/// [rows, columns] (square without the second) with ones on the diagonal. Throws Error for negative sizes.
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, DType dtype = float32, Device device = {});

/// start, start + step, … before end; integers give int64, anything else float32. Throws Error when step is 0
/// or leads away from end.
Tensor arange(Scalar end);
Tensor arange(Scalar start, Scalar end, Scalar step = 1);

/// Numbers of the program, nested up to three deep: tensor({{1, 2}, {3, 4}}). Integers give int64, bool bool,
/// anything else float32, unless `dtype` says otherwise by to().
Tensor tensor(Scalar value);
template <class T>
Tensor tensor(std::initializer_list<T> values);
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> values);
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> values);

/// A copy of `values` as a tensor of `shape` (by default one dimension) and of T's own dtype. Throws Error
/// when they are not as many.
template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape = {-1});
/// A tensor over memory of somebody else, row-major; `release` is called when the last handle is gone.
Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> release = {},
                 Device device = {});

/// Uniform in [0, 1).
Tensor rand(const Shape& shape, DType dtype = float32, Device device = {}, Generator* generator = nullptr);
/// Normally distributed, mean 0 and variance 1.
Tensor randn(const Shape& shape, DType dtype = float32, Device device = {}, Generator* generator = nullptr);
/// Integers from low, …, high - 1. Throws Error unless low < high and both ends fit `dtype`, which is not
/// bool.
Tensor randint(int64_t low, int64_t high, const Shape& shape, DType dtype = int64, Device device = {},
               Generator* generator = nullptr);
/// 0, …, n - 1 in random order.
Tensor randperm(int64_t n, Device device = {}, Generator* generator = nullptr);

namespace detail {
template <class T>
constexpr DType literal_dtype = std::is_same_v<T, bool> ? boolean
                                : std::is_integral_v<T> ? int64
                                                        : float32;

template <class T>
void put(const Tensor& to, int64_t at, T value) {
  if constexpr (std::is_same_v<T, bool>)
    to.data<bool>()[at] = value;
  else if constexpr (std::is_integral_v<T>)
    to.data<int64_t>()[at] = Scalar(value).to_int64();
  else
    to.data<float>()[at] = static_cast<float>(value);
}

template <class L>
int64_t length(const L& list) {
  return static_cast<int64_t>(list.size());
}
template <class L>
int64_t width(const L& list) {
  return list.size() == 0 ? 0 : length(*list.begin());
}
}  // namespace detail

template <class T>
Tensor tensor(std::initializer_list<T> values) {
  Tensor result = empty({detail::length(values)}, detail::literal_dtype<T>);
  int64_t at = 0;
  for (const T value : values) detail::put(result, at++, value);
  return result;
}

template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> values) {
  Tensor result = empty({detail::length(values), detail::width(values)}, detail::literal_dtype<T>);
  int64_t at = 0;
  for (const auto& row : values) {
    check(detail::length(row) == detail::width(values), "tensor: rows of ", detail::width(values), " and ",
          row.size(), " elements");
    for (const T value : row) detail::put(result, at++, value);
  }
  return result;
}

template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> values) {
  const int64_t rows = detail::width(values), columns = rows ? detail::width(*values.begin()) : 0;
  Tensor result = empty({detail::length(values), rows, columns}, detail::literal_dtype<T>);
  int64_t at = 0;
  for (const auto& plane : values) {
    check(detail::length(plane) == rows, "tensor: planes of ", rows, " and ", plane.size(), " rows");
    for (const auto& row : plane) {
      check(detail::length(row) == columns, "tensor: rows of ", columns, " and ", row.size(), " elements");
      for (const T value : row) detail::put(result, at++, value);
    }
  }
  return result;
}

template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  Tensor result = empty(infer_shape(shape, detail::length(values), "from_vector"), dtype_of<T>());
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

}  // namespace tern
