#include <tern/kernels/conv.h>

#include <tern/kernels/conv_direct.h>
#include <tern/kernels/conv_narrow.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// The direct kernels copy all columns of a window row into a strip: not between far places.
constexpr int64_t reach = 1024;

ConvSizes sizes_of(const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  const Shape y = conv2d_shape(x, weight, options);
  return {x[0], x[2], x[3], x[1], y[2], y[3], y[1], weight[2], weight[3], options};
}

// And they find their way through an image, and through strips of its padded rows, by offsets of 32 bits.
bool has_short_offsets(const ConvSizes& s) {
  constexpr double most = 1 << 30;
  const auto product = [](int64_t a, int64_t b, int64_t c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  };
  const Conv2dOptions& o = s.options;
  const int64_t columns = s.w + 2 * o.padding.w + s.kw * o.dilation.w;
  return product(s.h + 2 * o.padding.h, columns, s.ic) <= most && product(s.oh, s.ow, s.oc) <= most &&
         product(1, columns, s.oc) <= most;
}

bool is_near(const Conv2dOptions& o) {
  return std::max({o.stride.h, o.stride.w, o.padding.h, o.padding.w, o.dilation.h, o.dilation.w}) <= reach;
}

// The direct kernels dilate where they need not stride at the same time.
bool has_direct_steps(int64_t stride, int64_t dilation) { return stride == 1 || dilation == 1; }

enum class Way : uint8_t { narrow, direct, gemm };

Way way_of(DType dtype, const ConvSizes& sizes) {
  const Conv2dOptions& o = sizes.options;
  if (dtype != float32 || !is_near(o)) return Way::gemm;
  if (is_narrow(sizes)) return Way::narrow;
  return has_direct_steps(o.stride.h, o.dilation.h) && has_direct_steps(o.stride.w, o.dilation.w) &&
                 has_short_offsets(sizes)
             ? Way::direct
             : Way::gemm;
}

Tensor nhwc(const Tensor& x) { return contiguous(x, MemoryFormat::channels_last); }

// Half types compute in float32.
Tensor widened(const Tensor& x) { return x.defined() ? to(x, computing_dtype(x.dtype())) : x; }

// [OC, IC, KH, KW] as [OC, KH, KW, IC] in memory, which is its channels-last order.
Tensor gemm_weight(const Tensor& weight) { return nhwc(weight); }

// dy, but 0 where the output of a fused ReLU is, NHWC.
Tensor masked(const Conv2dOutputGradient& gradient) {
  const Tensor dy = nhwc(gradient.dy);
  return gradient.y.defined() ? unary_backward(Relu{}, nhwc(gradient.y), dy) : dy;
}

Conv2dOutputGradient nhwc(const Conv2dOutputGradient& gradient) {
  return {nhwc(gradient.dy), gradient.y.defined() ? nhwc(gradient.y) : Tensor(),
          gradient.argmax.defined() ? nhwc(gradient.argmax) : Tensor()};
}

Conv2dOutputGradient widened(const Conv2dOutputGradient& gradient) {
  return {widened(gradient.dy), widened(gradient.y), gradient.argmax};
}

void check_tensors(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(is_floating_point(x.dtype()) && weight.dtype() == x.dtype(),
        "conv2d: input and weight must be floating-point of one dtype, got ", x.dtype(), " and ",
        weight.dtype());
  check(weight.device() == x.device(), "conv2d: input is on ", x.device(), ", weight on ", weight.device());
  check(x.device().is_cpu(), "conv2d: no kernel for ", x.device());
  if (!bias.defined()) return;
  check(bias.dim() == 1 && bias.size(0) == weight.size(0) && bias.dtype() == x.dtype() &&
            bias.device() == x.device(),
        "conv2d: bias must be [", weight.size(0), "] of ", x.dtype(), " on ", x.device(), ", got ",
        bias.shape(), " of ", bias.dtype(), " on ", bias.device());
}

}  // namespace

Shape conv2d_shape(const Shape& x, const Shape& weight, const Conv2dOptions& o) {
  check(x.dim() == 4, "conv2d: input must be [N, C, H, W], got ", x);
  check(weight.dim() == 4, "conv2d: weight must be [OC, IC / groups, KH, KW], got ", weight);
  check(o.groups >= 1, "conv2d: groups must be at least 1, got ", o.groups);
  check(weight[0] % o.groups == 0 && x[1] % o.groups == 0 && x[1] / o.groups == weight[1], "conv2d: input ",
        x, " does not fit weight ", weight, " with groups = ", o.groups, ": input channels must be ",
        weight[1], " times groups and output channels a multiple of groups");
  const Windows windows{{weight[2], weight[3]}, o.stride, o.padding, o.dilation};
  check_windows("conv2d", windows);
  const Size2 y = count_windows("conv2d", {x[2], x[3]}, windows);
  return {x[0], weight[0], y.h, y.w};
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options,
              bool relu) {
  check_tensors(x, weight, bias);
  if (is_reduced_floating_point(x.dtype())) {
    return to(conv2d(widened(x), widened(weight), widened(bias), options, relu), x.dtype());
  }
  const ConvSizes sizes = sizes_of(x.shape(), weight.shape(), options);
  const Tensor input = nhwc(x), b = bias.defined() ? contiguous(bias) : bias;
  Tensor y =
      empty({sizes.n, sizes.oc, sizes.oh, sizes.ow}, x.dtype(), x.device(), MemoryFormat::channels_last);
  if (y.numel() == 0) return y;
  const Way way = way_of(x.dtype(), sizes);
  if (way == Way::narrow) {
    conv_narrow_forward(sizes, input, weight, b, y);
    return relu ? unary(Relu{}, y) : y;
  }
  if (way == Way::direct) {
    conv_direct_forward(sizes, input, weight, b, relu, y, Tensor());
    return y;
  }
  const Tensor w = gemm_weight(weight);
  const auto run = [&]<class T>() {
    conv_gemm_forward(sizes, input.data<T>(), w.data<T>(), b.defined() ? b.data<T>() : nullptr, y.data<T>());
  };
  dispatch_computing(x.dtype(), run);
  return relu ? unary(Relu{}, y) : y;
}

Tensor conv2d_backward_data(const Conv2dOutputGradient& gradient, const Tensor& weight, const Shape& x_shape,
                            const Conv2dOptions& options) {
  const DType dtype = weight.dtype();
  if (is_reduced_floating_point(dtype)) {
    return to(conv2d_backward_data(widened(gradient), widened(weight), x_shape, options), dtype);
  }
  const ConvSizes sizes = sizes_of(x_shape, weight.shape(), options);
  Tensor dx = empty(x_shape, dtype, weight.device(), MemoryFormat::channels_last);
  if (dx.numel() == 0) return dx;
  const Way way = way_of(dtype, sizes);
  if (way == Way::direct) {
    conv_direct_backward_data(sizes, nhwc(gradient), weight, dx);
    return dx;
  }
  if (way == Way::narrow) {
    conv_narrow_backward_data(sizes, masked(gradient), weight, dx);
    return dx;
  }
  const Tensor dy = masked(gradient), w = gemm_weight(weight);
  if (dtype == float64)
    conv_gemm_backward_data(sizes, dy.data<double>(), w.data<double>(), dx.data<double>());
  else
    conv_gemm_backward_data(sizes, dy.data<float>(), w.data<float>(), dx.data<float>());
  return dx;
}

Conv2dWeightGradient conv2d_backward_weight(const Conv2dOutputGradient& gradient, const Tensor& x,
                                            const Tensor& weight, const Conv2dOptions& options,
                                            bool with_bias) {
  const DType dtype = weight.dtype();
  if (is_reduced_floating_point(dtype)) {
    const Conv2dWeightGradient wide =
        conv2d_backward_weight(widened(gradient), widened(x), widened(weight), options, with_bias);
    return {to(wide.dweight, dtype), with_bias ? to(wide.dbias, dtype) : Tensor()};
  }
  const ConvSizes sizes = sizes_of(x.shape(), weight.shape(), options);
  Conv2dWeightGradient result{empty_like(weight), Tensor()};
  const Tensor input = nhwc(x);
  const Way way = way_of(dtype, sizes);
  if (way == Way::direct) {
    if (with_bias) result.dbias = empty({sizes.oc}, dtype, weight.device());
    conv_direct_backward_weight(sizes, nhwc(gradient), input, result.dweight, result.dbias);
    return result;
  }
  const Tensor dy = masked(gradient);
  if (with_bias) result.dbias = sum(dy, {0, 2, 3});
  if (way == Way::narrow) {
    conv_narrow_backward_weight(sizes, dy, input, result.dweight);
    return result;
  }
  const Tensor dw = empty(weight.shape(), dtype, weight.device(), MemoryFormat::channels_last);
  if (dtype == float64)
    conv_gemm_backward_weight(sizes, dy.data<double>(), input.data<double>(), dw.data<double>());
  else
    conv_gemm_backward_weight(sizes, dy.data<float>(), input.data<float>(), dw.data<float>());
  copy(dw, result.dweight);
  return result;
}

bool fuses_max_pool(const Tensor& x, const Tensor& weight, const Conv2dOptions& options) {
  const ConvSizes sizes = sizes_of(x.shape(), weight.shape(), options);
  return options.groups == 1 && options.dilation == Size2(1) && way_of(x.dtype(), sizes) == Way::direct &&
         x.device().is_cpu() && sizes.oh >= 2 && sizes.ow >= 2;
}

PooledConv2d conv2d_relu_max_pool(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  const Conv2dOptions& options) {
  check_tensors(x, weight, bias);
  const ConvSizes sizes = sizes_of(x.shape(), weight.shape(), options);
  const Shape pooled{sizes.n, sizes.oc, sizes.oh / 2, sizes.ow / 2};
  PooledConv2d result{empty(pooled, float32, x.device(), MemoryFormat::channels_last),
                      empty(pooled, uint8, x.device(), MemoryFormat::channels_last)};
  if (result.y.numel() == 0) return result;
  conv_direct_forward(sizes, nhwc(x), weight, bias.defined() ? contiguous(bias) : bias, true, result.y,
                      result.argmax);
  return result;
}

}  // namespace tern::kernels
