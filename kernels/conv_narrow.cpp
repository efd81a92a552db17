#include <tern/kernels/conv_narrow.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/reduce.h>
#include <tern/kernels/simd/conv_narrow.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// Results of a depthwise convolution per channel: more than one are computed from copies of the channel.
int64_t copies_of(const ConvSizes& s) { return s.oc / s.ic; }

simd::NarrowConvShape narrow_shape(const ConvSizes& s) {
  const Conv2dOptions& o = s.options;
  return {s.n,  s.h,        s.w,        s.oh,        s.ow,        s.oc,         s.group_ic(), s.kh,
          s.kw, o.stride.h, o.stride.w, o.padding.h, o.padding.w, o.dilation.h, o.dilation.w};
}

// x [N, C, H, W] as [N, copies, C / copies, H, W], channel by channel as they lie in NHWC: copies are
// neighbours.
Layout apart(const Layout& x, int64_t copies) {
  Layout layout = x;
  layout.shape = {x.shape[0], copies, x.shape[1] / copies, x.shape[2], x.shape[3]};
  layout.strides = {x.strides[0], x.strides[1], x.strides[1] * copies, x.strides[2], x.strides[3]};
  return layout;
}

Tensor wide_images(const ConvSizes& s, const Tensor& x) {
  return empty({s.n, s.oc, s.h, s.w}, x.dtype(), x.device(), MemoryFormat::channels_last);
}

Tensor with_copies(const ConvSizes& s, const Tensor& x) {
  if (copies_of(s) == 1) return x;
  const Tensor wide = wide_images(s, x);
  copy(x.with_layout(x.layout().unsqueeze(1)), wide.with_layout(apart(wide.layout(), copies_of(s))));
  return wide;
}

// The weight [OC, width, KH, KW] as the kernels read it.
Tensor packed(const Layout& layout, const Tensor& weight, const Shape& order) {
  return contiguous(weight.with_layout(layout.permute(order)));
}

Tensor forward_weight(const Tensor& weight) { return packed(weight.layout(), weight, {2, 3, 1, 0}); }

// Lane c of the data gradient sums over the results of its group, as lanes of results sum over channels.
Tensor backward_weight(const Tensor& weight) {
  const Layout& x = weight.layout();
  const int64_t width = x.shape[1];
  Layout groups = x;
  groups.shape = {x.shape[0] / width, width, width, x.shape[2], x.shape[3]};
  groups.strides = {x.strides[0] * width, x.strides[0], x.strides[1], x.strides[2], x.strides[3]};
  return packed(groups, weight, {3, 4, 1, 0, 2});
}

int64_t rows_at_once(int64_t width, int64_t channels) {
  return std::max<int64_t>((int64_t{1} << 16) / std::max<int64_t>(width * channels, 1), 1);
}

}  // namespace

bool is_narrow(const ConvSizes& s) {
  const int64_t width = s.group_ic();
  const bool is_served =
      width == 1 || (s.group_oc() == width && width <= simd::narrow_conv_kernels().widest &&
                     (width == 2 || width == 4 || width == 8));
  return s.options.groups > 1 && s.oc > 0 && is_served;
}

void conv_narrow_forward(const ConvSizes& s, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& y) {
  const simd::NarrowConvShape shape = narrow_shape(s);
  const Tensor input = with_copies(s, x), w = forward_weight(weight);
  parallel_for(s.n * s.oh, rows_at_once(s.ow, s.oc), [&](int64_t begin, int64_t end) {
    simd::narrow_conv_kernels().forward(shape, input.data<float>(), w.data<float>(),
                                        bias.defined() ? bias.data<float>() : nullptr, y.data<float>(), begin,
                                        end);
  });
}

void conv_narrow_backward_data(const ConvSizes& s, const Tensor& dy, const Tensor& weight, const Tensor& dx) {
  const simd::NarrowConvShape shape = narrow_shape(s);
  const Tensor wide = copies_of(s) == 1 ? dx : wide_images(s, dx), w = backward_weight(weight);
  parallel_for(s.n * s.h, rows_at_once(s.w, s.oc), [&](int64_t begin, int64_t end) {
    simd::narrow_conv_kernels().backward_data(shape, dy.data<float>(), w.data<float>(), wide.data<float>(),
                                              begin, end);
  });
  if (copies_of(s) > 1) copy(sum(wide.with_layout(apart(wide.layout(), copies_of(s))), {1}), dx);
}

void conv_narrow_backward_weight(const ConvSizes& s, const Tensor& dy, const Tensor& x,
                                 const Tensor& dweight) {
  const simd::NarrowConvShape shape = narrow_shape(s);
  const Tensor input = with_copies(s, x);
  const int64_t rows = s.n * s.oh, size = dweight.numel();
  // Partial sums, for the threads: as many as cost little beside dy.
  const int64_t parts = std::min(std::clamp<int64_t>(dy.numel() / (4 * size), 8, 64), rows);
  const Tensor sums = zeros({parts, s.kh, s.kw, s.group_ic(), s.oc});
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      simd::narrow_conv_kernels().backward_weight(shape, dy.data<float>(), input.data<float>(),
                                                  sums.data<float>() + part * size, part * rows / parts,
                                                  (part + 1) * rows / parts);
    }
  });
  const Tensor total = sum(sums, {0});
  copy(total.with_layout(total.layout().permute({3, 2, 0, 1})), dweight);
}

}  // namespace tern::kernels
