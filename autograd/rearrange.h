// Joining, splitting and rearranging tensors. All differentiable and for any dtype; parts and other orders of
// dimensions are views, everything else copies.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/pad.h>

#include <initializer_list>
#include <optional>
#include <vector>

namespace tern {

/// Tensors of one shape side by side in a new dimension `dim`, promoted to one dtype. Throws Error when
/// shapes differ.
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);

/// Views of `split_size` elements each of dimension `dim`, the last perhaps smaller; of an empty dimension,
/// one.
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim = 0);
/// Views of `split_sizes` elements of dimension `dim`. Throws Error unless they add up to its size.
std::vector<Tensor> split(const Tensor& x, std::initializer_list<int64_t> split_sizes, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& split_sizes, int64_t dim = 0);
/// Views of ceil(size / chunks) elements each of dimension `dim`: at most `chunks`, the last perhaps smaller;
/// of an empty dimension, one.
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
/// The views select(x, dim, 0), select(x, dim, 1), …
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);

/// A view with dimension `source` at place `destination`, the others in their order.
Tensor movedim(const Tensor& x, int64_t source, int64_t destination);
/// transpose() by its other name.
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1);

/// x with `dims` from last to first.
Tensor flip(const Tensor& x, const Shape& dims);
/// x with its elements moved by `shifts` along `dims`, those pushed off the end coming back at the start;
/// without dims by one shift in row-major order.
Tensor roll(const Tensor& x, const Shape& shifts, const Shape& dims = {});
/// x repeated sizes[d] times along each dimension; missing leading dimensions of x count as size 1. Throws
/// Error when there are fewer sizes than dimensions, or negative ones.
Tensor repeat(const Tensor& x, const Shape& sizes);
/// x with each slice along `dim` (each element, in one row, without it) `repeats` times in a row.
Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {});

/// The lower (upper) triangle of the matrices x [..., rows, columns]: zero where column - row > diagonal (<
/// diagonal).
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

/// x with padding[0] elements before and padding[1] after its last dimension, [2] and [3] for the one before
/// it, and so on ({left, right, top, bottom} of images); negative numbers cut off: circular repeats what
/// is left, reflect and replicate the edges that were there before. torch.nn.functional.pad, for any number
/// of dimensions in every mode. Throws Error where more is cut off than there is, and where the elements to
/// mirror or repeat are not all there.
Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode = PadMode::constant,
           Scalar value = 0);

}  // namespace tern
