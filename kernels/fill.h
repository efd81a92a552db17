// Filling tensors: constants, sequences and random numbers.
//
// Functions that take `dst` write in place, through any strides but not into a tensor that overlaps itself
// (Error). Random numbers depend on the generator's state and the element's row-major index alone: not on
// strides or the number of threads, and for float32 not on the device.
#pragma once

#include <tern/core/random.h>
#include <tern/core/scalar.h>
#include <tern/core/tensor.h>

namespace tern::kernels {

/// Every element = value, converted to dst's dtype as Scalar::to() converts.
void fill(const Tensor& dst, Scalar value);

/// Every element = 0.
void zero(const Tensor& dst);

/// start, start + step, … before end: [ceil((end - start) / step)] of `dtype` (not bool); element i is start
/// + i * step, computed in int64 or double. Throws Error when step is 0, leads away from end or is not
/// finite, and for more than 2^63 - 1 elements.
Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device = {});

/// [rows, columns] with ones on the diagonal. Throws Error for negative sizes.
Tensor eye(int64_t rows, int64_t columns, DType dtype = float32, Device device = {});

/// Floating-point dst: uniform in [low, high). Throws Error when low > high and when their
/// distance is infinite in dst's dtype. Half types get rounded float32
/// numbers, and may therefore hit `high`.
void uniform(const Tensor& dst, double low, double high, Generator& generator);

/// Floating-point dst: normally distributed. Throws Error for std < 0.
void normal(const Tensor& dst, double mean, double std, Generator& generator);

/// Integers from low, …, high - 1, in any dtype but bool. Throws Error unless low < high and both ends fit
/// the dtype.
void randint(const Tensor& dst, int64_t low, int64_t high, Generator& generator);

/// Any dtype: 1 with probability p, otherwise 0. Throws Error for p outside [0, 1].
void bernoulli(const Tensor& dst, double p, Generator& generator);

/// int64 [n]: 0, …, n - 1 in random order. Throws Error for n < 0.
Tensor randperm(int64_t n, Generator& generator, Device device = {});

}  // namespace tern::kernels
