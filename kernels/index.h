// Taking and adding slices by index, joining tensors, one-hot rows.
//
// Indices are int64 and count from 0. One outside its dimension (a negative one too) throws Error naming its
// position and value, before anything is written.
#pragma once

#include <tern/core/tensor.h>

#include <span>

namespace tern::kernels {

/// y[..., i, ...] = x[..., index[i], ...] along `dim`; index is 1-d. Any dtype. Errors name `operation`.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index,
                    const char* operation = "index_select");

/// dst[..., index[i], ...] += src[..., i, ...] along `dim`, in place; an index may be repeated, and its
/// slices are added in the order of i, half types in float32. One dtype (not bool). Throws Error when shapes
/// do not fit or dst overlaps itself.
void index_add(const Tensor& dst, int64_t dim, const Tensor& index, const Tensor& src);

/// The tensors one after another along `dim`. Sizes of the other dimensions, dtypes and devices must be equal
/// (Error), as must be the number of dimensions; at least one tensor. The result is channels-last when all
/// tensors are and not all are contiguous too.
Tensor cat(std::span<const Tensor> tensors, int64_t dim);

/// int64 [..., classes]: 1 at the place that `index` (any shape) names, else 0.
Tensor one_hot(const Tensor& index, int64_t classes);

}  // namespace tern::kernels
