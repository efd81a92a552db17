// Padding: a tensor with more elements before and after each dimension.
#pragma once

#include <tern/core/scalar.h>
#include <tern/core/tensor.h>

#include <vector>

namespace tern {

/// What is added: one value; the elements next to the edge, mirrored there (not the edge itself); the edge;
/// the elements at the other end.
enum class PadMode : unsigned char { constant, reflect, replicate, circular };

namespace kernels {

/// x with padding[0] elements before and padding[1] after its last dimension, [2] and [3] for the one before
/// it, and so on. Negative numbers cut off: from x before its ends are repeated (circular), or after edges
/// have been mirrored and repeated (reflect, replicate). Any dtype; channels-last stays channels-last. Throws
/// Error where more is cut off than there is, and where mirrored (repeated) elements are not all there.
Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode, Scalar value);

/// dx, shaped `x_shape`; half types add up in float32.
Tensor pad_backward(const Tensor& dy, const Shape& x_shape, const std::vector<int64_t>& padding,
                    PadMode mode);

}  // namespace kernels
}  // namespace tern
