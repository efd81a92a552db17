// The ways in which a tensor of given values can lie in memory.
#pragma once

#include <tern/core/tensor.h>

#include <array>
#include <functional>
#include <vector>

namespace tern::tests {

enum class Lay {
  contiguous,
  offset,         ///< dense, but not at the start of its storage
  reversed,       ///< dense, the first dimension closest
  sliced,         ///< every second element of the last dimension
  channels_last,  ///< as N, H, W, C
  far,            ///< more than 2^31 elements into its storage, a dimension's slices as far from each other
};
inline constexpr std::array<Lay, 6> all_lays{Lay::contiguous, Lay::offset,        Lay::reversed,
                                             Lay::sliced,     Lay::channels_last, Lay::far};
const char* name(Lay lay);

/// A new tensor of x's values that lies as `lay` says; contiguous where the shape has no such form.
Tensor laid_out(const Tensor& x, Lay lay);

/// Zeros that take no memory but where they are written: for shapes that are larger than memory. Contiguous.
Tensor sparse_zeros(const Shape& shape, DType dtype);

/// The values in row-major order, and a contiguous tensor of `dtype` made from them.
std::vector<double> values_of(const Tensor& x);
Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype = float64);
/// The same in one dimension.
Tensor row(const std::vector<double>& values, DType dtype = float64);

/// Distinct values between `low` and `high` in a scattered order, always the same.
Tensor scattered(const Shape& shape, double low = -2, double high = 2, DType dtype = float64);

/// A gradient to start from: numbers of both signs, always the same.
Tensor upstream(const Shape& shape, DType dtype = float64);

/// Same shape, dtype and bits; NaN equals itself.
bool bits_equal(const Tensor& a, const Tensor& b);

/// The largest |got - want| over 1 + the largest |want|; NaN and infinities must agree (else infinite, as
/// with different shapes).
double distance(const Tensor& got, const Tensor& want);

/// The text of the tern::Error that `action` throws, or "no error".
std::string message_of(const std::function<void()>& action);

/// Whether message_of(action) contains `part`; the text is printed when it does not.
bool fails_with(const std::string& part, const std::function<void()>& action);

}  // namespace tern::tests
