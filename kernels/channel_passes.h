// The passes over memory that batch and group normalisation are made of.
//
// x is [N, C, …] of float32 or float64 as channel_order() leaves it. A statistic belongs to a channel of the
// whole batch (float64 [C]) or of one sample (float64 [N, C]). A channels-last x is computed along its
// contiguous channels. Results have x's order of dimensions, and the same bits for any number of threads.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// x itself when it is contiguous or channels-last, else a contiguous copy; half types become float32.
Tensor channel_order(const Tensor& x);
/// `x` in the order that `like` has, half types as float32.
Tensor channel_order_of(const Tensor& x, const Tensor& like);

/// How many elements of x share a statistic.
int64_t values_per_channel(const Tensor& x, bool per_sample);

struct ChannelMoments {
  Tensor mean;  ///< 0 where there are no elements
  Tensor m2;    ///< the sum of squared distances from the mean
};
/// One pass over x, numerically stable (kernels/simd/normalization.h).
ChannelMoments channel_moments(const Tensor& x, bool per_sample);

/// y = (x - mean) scale + shift; all three [C] or all three [N, C].
Tensor channel_normalize(const Tensor& x, const Tensor& mean, const Tensor& scale, const Tensor& shift);

struct ChannelSums {
  Tensor dy;         ///< the sum of dy
  Tensor dy_offset;  ///< the sum of dy (x - mean)
};
/// In mean's shape. dy lies as x.
ChannelSums channel_sums(const Tensor& dy, const Tensor& x, const Tensor& mean);

/// dx = dy a + (x - mean) b + c; all four [C] or all four [N, C].
Tensor channel_gradient(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& a,
                        const Tensor& b, const Tensor& c);

}  // namespace tern::kernels
