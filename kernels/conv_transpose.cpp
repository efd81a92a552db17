#include <tern/kernels/conv_transpose.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>

namespace tern::kernels {
namespace {

constexpr const char* operation = "conv_transpose2d";

// Images of the result stay below 2^62 a side.
int64_t output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    int64_t output_padding) {
  check(size - 1 <= (int64_t{1} << 61) / stride, operation, ": an input of size ", size, " with stride ",
        stride, " is too large");
  return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
}

bool is_below(int64_t padding, int64_t stride, int64_t dilation) {
  return padding >= 0 && (padding < stride || padding < dilation);
}

void check_tensors(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t groups) {
  check(is_floating_point(x.dtype()) && weight.dtype() == x.dtype(), operation,
        ": input and weight must be floating-point of one dtype, got ", x.dtype(), " and ", weight.dtype());
  check_same_device(x, weight, operation);
  if (!bias.defined()) return;
  const int64_t channels = weight.size(1) * groups;
  check(bias.shape() == Shape{channels} && bias.dtype() == x.dtype() && bias.device() == x.device(),
        operation, ": bias must be [", channels, "] of ", x.dtype(), " on ", x.device(), ", got ",
        bias.shape(), " of ", bias.dtype(), " on ", bias.device());
}

}  // namespace

Shape conv_transpose2d_shape(const Shape& x, const Shape& weight, const ConvTranspose2dOptions& o) {
  check(x.dim() == 4, operation, ": input must be [N, C, H, W], got ", x);
  check(weight.dim() == 4, operation, ": weight must be [IC, OC / groups, KH, KW], got ", weight);
  check(o.groups >= 1 && weight[0] % o.groups == 0 && x[1] == weight[0], operation, ": input ", x,
        " does not fit weight ", weight, " with groups = ", o.groups, ": input channels must be ", weight[0],
        ", a multiple of groups");
  check(weight[1] == 0 || o.groups <= (int64_t{1} << 61) / weight[1], operation, ": too many groups, ",
        o.groups);
  check_windows(operation, {{weight[2], weight[3]}, o.stride, o.padding, o.dilation});
  check(is_below(o.output_padding.h, o.stride.h, o.dilation.h) &&
            is_below(o.output_padding.w, o.stride.w, o.dilation.w),
        operation, ": output_padding must be from 0 to below stride ", o.stride, " or dilation ", o.dilation,
        ", got ", o.output_padding);
  check(x[2] >= 1 && x[3] >= 1, operation, ": input ", x, " has empty images");
  const Shape y{x[0], weight[1] * o.groups,
                output_size(x[2], weight[2], o.stride.h, o.padding.h, o.dilation.h, o.output_padding.h),
                output_size(x[3], weight[3], o.stride.w, o.padding.w, o.dilation.w, o.output_padding.w)};
  check(y[2] >= 0 && y[3] >= 0, operation, ": less than nothing is left of input ", x, " with weight ",
        weight, " and padding ", o.padding);
  return y;
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const Shape shape = conv_transpose2d_shape(x.shape(), weight.shape(), options);
  check_tensors(x, weight, bias, options.groups);
  if (is_reduced_floating_point(x.dtype())) {
    const Tensor term = bias.defined() ? to(bias, float32) : bias;
    return to(conv_transpose2d(to(x, float32), to(weight, float32), term, options), x.dtype());
  }
  const Tensor y = conv2d_backward_data({x, Tensor(), Tensor()}, weight, shape,
                                        {options.stride, options.padding, options.dilation, options.groups});
  if (!bias.defined()) return y;
  const Tensor term = contiguous(bias);
  add_(y, term.with_layout(Layout({shape[1], 1, 1}, {1, 1, 1}, term.layout().offset)));
  return y;
}

}  // namespace tern::kernels
