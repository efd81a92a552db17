// The operations that layers are made of. All differentiable; names, arguments and defaults are those of
// torch.nn.functional.
#pragma once

#include <tern/core/random.h>
#include <tern/core/tensor.h>
#include <tern/kernels/batch_norm.h>
#include <tern/kernels/conv.h>
#include <tern/kernels/conv_transpose.h>
#include <tern/kernels/pool.h>
#include <tern/kernels/reduce.h>
#include <tern/kernels/resize.h>
#include <tern/kernels/span_pool.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tern {

/// Matrix product as in PyTorch: 1-d operands are rows or columns, above 2 dimensions batches broadcast.
Tensor matmul(const Tensor& a, const Tensor& b);
/// The sum of the products of two vectors' elements. Throws Error unless both have one size.
Tensor dot(const Tensor& a, const Tensor& b);
/// [n, m]: the product of each element of the vector a [n] with each of b [m].
Tensor outer(const Tensor& a, const Tensor& b);
/// Matrix products [B, N, M] [B, M, P], one for each of the batch; nothing broadcasts.
Tensor bmm(const Tensor& a, const Tensor& b);
/// A sum of products by Einstein's convention: "ij,jk->ik" is a matrix product, "bij->bji" a transposition,
/// "ii" a trace, "i,j->ij" outer(). A letter names a dimension of each operand in turn; equal letters run
/// together, those that are not in the result are summed; "..." stands for any further dimensions, which
/// broadcast. Without "->" the result has "..." first, then the letters that occur once, in ASCII order.
/// Operands meet from left to right, each time by one matrix product. One dtype (not bool), half types
/// compute in float32. Throws Error, quoting the equation, where it and the operands do not fit.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

/// y = x W^T + bias: x [..., in], weight [out, in], bias [out] or undefined; y [..., out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// linear(flatten(x, 1), weight, bias) for an image x [N, C, H, W], without reordering a channels-last x: the
/// columns of the weight are permuted instead.
Tensor flatten_linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// Convolution of x [N, C, H, W] (or [C, H, W]) with weight [OC, C / groups, KH, KW] and bias [OC] or
/// undefined. The result is channels-last.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv2dOptions& options = {});
/// The transposed convolution of x [N, IC, H, W] (or [IC, H, W]) with weight [IC, OC / groups, KH, KW] and
/// bias [OC] or undefined: conv2d's gradient of its input, with x in the place of dy. The result [N, OC, OH,
/// OW], OH = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1, is channels-last.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;  ///< zeros added on each side
  int64_t dilation = 1;
  int64_t groups = 1;
};
/// conv2d() of lines [N, C, L] (or [C, L]) with weight [OC, C / groups, K].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv1dOptions& options = {});

/// relu(conv2d(…)) in one pass.
Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                   const Conv2dOptions& options = {});
/// max_pool2d(relu(conv2d(…)), 2) in one pass where there is a kernel for it: the result in between never
/// reaches memory, and its gradient's zeros are skipped.
Tensor conv2d_relu_max_pool2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                              const Conv2dOptions& options = {});

// Pooling. All need a floating-point x; results are channels-last. Throws Error where sizes and options do
// not fit; kernels, strides, paddings and dilations go up to 2^31 - 1.

/// Largest element of each window of x [N, C, H, W] (or [C, H, W]). Of equals the first gets the gradient;
/// NaN counts as largest, of several the last. A window wholly in the padding is minus infinity and passes no
/// gradient.
Tensor max_pool2d(const Tensor& x, Size2 kernel_size, const MaxPool2dOptions& options = {});
using kernels::ValuesAndIndices;
/// max_pool2d() and where in the image each maximum is, row * W + column (0 for a window wholly in the
/// padding).
ValuesAndIndices max_pool2d_with_indices(const Tensor& x, Size2 kernel_size,
                                         const MaxPool2dOptions& options = {});
/// Average of each window of x [N, C, H, W] (or [C, H, W]).
Tensor avg_pool2d(const Tensor& x, Size2 kernel_size, const AvgPool2dOptions& options = {});

/// Average of each of output_size evenly cut parts of x [N, C, H, W] (or [C, H, W]): output i covers rows
/// floor(i H / size) to ceil((i + 1) H / size), columns likewise.
Tensor adaptive_avg_pool2d(const Tensor& x, const OutputSize2& output_size);
/// The largest element of those parts, with the rules of max_pool2d().
Tensor adaptive_max_pool2d(const Tensor& x, const OutputSize2& output_size);
/// adaptive_max_pool2d() and where in the image each maximum is, row * W + column.
ValuesAndIndices adaptive_max_pool2d_with_indices(const Tensor& x, const OutputSize2& output_size);

struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  ///< by default the kernel size
  int64_t padding = 0;
  int64_t dilation = 1;
  bool ceil_mode = false;
};
/// max_pool2d() of lines [N, C, L] (or [C, L]).
Tensor max_pool1d(const Tensor& x, int64_t kernel_size, const MaxPool1dOptions& options = {});

struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};  ///< by default the kernel size
  int64_t padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};
/// avg_pool2d() of lines [N, C, L] (or [C, L]).
Tensor avg_pool1d(const Tensor& x, int64_t kernel_size, const AvgPool1dOptions& options = {});

// Normalisation. Statistics are numerically stable whatever the mean; half types compute in float32. `weight`
// and `bias` have x's dtype (or float32 beside half types), or are undefined: 1 and 0. A channels-last x
// gives a channels-last result.

struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  ///< the share of the newest batch in the running statistics
  double eps = 1e-5;
  /// In training: those with whom x is one batch (SyncBatchNorm's other ranks). By default x stands alone.
  std::shared_ptr<const kernels::BatchPeers> peers = nullptr;
};
/// y = (x - mean) / sqrt(var + eps) weight + bias per channel of x [N, C] or [N, C, …] (Ioffe & Szegedy,
/// arXiv:1502.03167), all parameters [C]. In training by the batch's mean and biased variance, which
/// running_mean and running_var (unless undefined) then move towards, the variance without bias: running = (1
/// - momentum) running + momentum batch. Otherwise by the running statistics. Throws Error for training with
/// one value per channel, and leaves the running statistics as they were.
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = {}, const Tensor& bias = {}, const BatchNormOptions& options = {});

/// y = (x - mean) / sqrt(var + eps) weight + bias over the last dimensions of x, of shape `normalized_shape`
/// (arXiv:1607.06450); weight and bias have that shape. The result is contiguous.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);

/// y = x / sqrt(mean of x^2 + eps) weight, like layer_norm() (arXiv:1910.07467). By default eps is what the
/// computation's dtype can tell from 1: 2^-23, for float64 2^-52.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

/// y = (x - mean) / sqrt(var + eps) weight + bias with the mean and variance of each sample's `num_groups`
/// groups of neighbouring channels; x [N, C] or [N, C, …], weight and bias [C] (arXiv:1803.08494). Throws
/// Error unless groups divide the channels, and for a single value per group in all.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// Activations; all need a floating-point x. relu, sigmoid and tanh are in operators.h.

/// x where x > 0, negative_slope x elsewhere.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x where x > 0, alpha (e^x - 1) elsewhere.
Tensor elu(const Tensor& x, double alpha = 1.0);
enum class GeluApproximation { none, tanh };
/// x Phi(x) with the normal distribution's Phi, by erf or by the paper's tanh formula (Hendrycks & Gimpel,
/// arXiv:1606.08415).
Tensor gelu(const Tensor& x, GeluApproximation approximate = GeluApproximation::none);
/// x sigmoid(x).
Tensor silu(const Tensor& x);
/// log(1 + e^(beta x)) / beta; x itself where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);

/// exp(x) / sum(exp(x)) along `dim`; NaN where all are -inf.
Tensor softmax(const Tensor& x, int64_t dim);
/// log(softmax(x)), without underflow.
Tensor log_softmax(const Tensor& x, int64_t dim);

/// Zeroes elements with probability p and scales the others by 1 / (1 - p) while `training`; x itself
/// otherwise. Draws from `generator`, by default the device's.
Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);

/// dropout() of whole channels: planes of [N, C, H, W] or rows of [N, C, L] (Tompson et al.,
/// arXiv:1411.4280).
Tensor dropout2d(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);

/// x divided by its p-norm along `dim`, or by eps where that is larger.
Tensor normalize(const Tensor& x, double p = 2, int64_t dim = 1, double eps = 1e-12);
/// The cosine of the angle between a and b along `dim`: their product divided by both norms, each at least
/// eps. a and b broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);

/// Images x [N, C, H, W] in another size: each pixel the nearest of x's, or bilinearly mixed from four.
/// Channels-last. `size` or `scale_factor` must be given; floating-point tensors only.
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

struct AttentionOptions {
  Tensor attn_mask = {};   ///< broadcasts to [..., L, S]; bool: true takes part; of query's dtype: is added
  double dropout_p = 0;    ///< each weight is dropped with this probability, always
  bool is_causal = false;  ///< query i sees keys 0, …, i only, and of them those that attn_mask lets through
  std::optional<double> scale = {};  ///< 1 / sqrt(E) by default
};
/// softmax(scale query key^T + mask) value for query [..., L, E], key [..., S, E], value [..., S, Ev], whose
/// batches broadcast: [..., L, Ev] (Vaswani et al., arXiv:1706.03762). A query that no key is left for (bool
/// or -inf) gives zeros and gets and causes zero gradients. float16 and bfloat16 are computed in float32 and
/// rounded once. Keeps the weights [..., L, S] for backward.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

}  // namespace tern
