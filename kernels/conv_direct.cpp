#include <tern/core/thread_pool.h>
#include <tern/kernels/conv_direct.h>
#include <tern/kernels/simd/conv.h>

#include <algorithm>

namespace tern::kernels {
namespace {

simd::ConvShape direct_shape(const ConvSizes& s, bool pool) {
  const Conv2dOptions& o = s.options;
  return {s.n,        s.h,        s.w,         s.group_ic(), s.oh, s.ow,         s.group_oc(), s.kh,    s.kw,
          o.stride.h, o.stride.w, o.padding.h, o.padding.w,  pool, o.dilation.h, o.dilation.w, o.groups};
}

simd::WeightStrides weight_strides(const Tensor& weight) {
  return {weight.stride(0), weight.stride(1), weight.stride(2), weight.stride(3)};
}

// Floats of scratch, 64-byte aligned for each thread.
class Scratch {
 public:
  Scratch(int64_t floats, Device device)
      : stride_((floats + 15) / 16 * 16), memory_(empty({get_num_threads(), stride_}, float32, device)) {}
  float* of_this_thread() const { return memory_.data<float>() + thread_index() * stride_; }

 private:
  int64_t stride_;
  Tensor memory_;
};

// Calls body(group, begin, end) for the items of all groups, spread over the threads.
template <class Body>
void for_each_item(int64_t groups, int64_t items, const Body& body) {
  parallel_for(groups * items, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end;) {
      const int64_t first = unit % items, last = std::min(items, first + end - unit);
      body(unit / items, first, last);
      unit += last - first;
    }
  });
}

// A group's part, which starts `count` elements after the one before it; null stays null.
template <class T>
T* part(T* data, int64_t group, int64_t count) {
  return data ? data + group * count : nullptr;
}

float* data_or_null(const Tensor& x) { return x.defined() ? x.data<float>() : nullptr; }

simd::ConvOutputGradient pointers(const Conv2dOutputGradient& gradient, const ConvSizes& sizes,
                                  int64_t group) {
  const int64_t channels = sizes.group_oc();
  return {part(gradient.dy.data<float>(), group, channels), part(data_or_null(gradient.y), group, channels),
          gradient.argmax.defined() ? gradient.argmax.data<uint8_t>() : nullptr};
}

// `count` floats for each group, aligned to 64 bytes.
class PerGroup {
 public:
  PerGroup(int64_t groups, int64_t count, Device device)
      : count_((count + 15) / 16 * 16), memory_(empty({groups, count_}, float32, device)) {}
  float* of(int64_t group) const { return memory_.data<float>() + group * count_; }

 private:
  int64_t count_;
  Tensor memory_;
};

}  // namespace

void conv_direct_forward(const ConvSizes& sizes, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         bool relu, const Tensor& y, const Tensor& argmax) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, argmax.defined());
  const int64_t groups = shape.groups, ic = shape.ic, oc = shape.oc;
  const PerGroup packed(groups, kernels.forward_packed(shape), x.device());
  for_each_item(groups, kernels.pack_forward_items(shape), [&](int64_t group, int64_t begin, int64_t end) {
    kernels.pack_forward(shape, weight.data<float>() + group * oc * weight.stride(0), weight_strides(weight),
                         packed.of(group), begin, end);
  });
  const Scratch scratch(kernels.forward_scratch(shape), x.device());
  for_each_item(groups, kernels.forward_items(shape), [&](int64_t group, int64_t begin, int64_t end) {
    const simd::ConvForward call{shape,
                                 x.data<float>() + group * ic,
                                 packed.of(group),
                                 part(data_or_null(bias), group, oc),
                                 relu,
                                 y.data<float>() + group * oc,
                                 argmax.defined() ? argmax.data<uint8_t>() : nullptr};
    kernels.forward(call, begin, end, scratch.of_this_thread());
  });
}

void conv_direct_backward_data(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                               const Tensor& weight, const Tensor& dx) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, gradient.argmax.defined());
  const int64_t groups = shape.groups, ic = shape.ic, oc = shape.oc;
  const PerGroup packed(groups, kernels.backward_data_packed(shape), dx.device());
  for_each_item(groups, kernels.pack_backward_data_items(shape),
                [&](int64_t group, int64_t begin, int64_t end) {
                  kernels.pack_backward_data(shape, weight.data<float>() + group * oc * weight.stride(0),
                                             weight_strides(weight), packed.of(group), begin, end);
                });
  const Scratch scratch(kernels.backward_data_scratch(shape), dx.device());
  for_each_item(groups, kernels.backward_data_items(shape), [&](int64_t group, int64_t begin, int64_t end) {
    const simd::ConvBackwardData call{shape, pointers(gradient, sizes, group), packed.of(group), nullptr,
                                      dx.data<float>() + group * ic};
    kernels.backward_data(call, begin, end, scratch.of_this_thread());
  });
}

void conv_direct_backward_weight(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                                 const Tensor& x, const Tensor& dweight, const Tensor& dbias) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, gradient.argmax.defined());
  const int64_t groups = shape.groups, ic = shape.ic, oc = shape.oc;
  const PerGroup partials(groups, kernels.backward_weight_partials(shape), x.device());
  const Scratch scratch(kernels.backward_weight_scratch(shape), x.device());
  for_each_item(groups, kernels.backward_weight_items(shape), [&](int64_t group, int64_t begin, int64_t end) {
    const simd::ConvBackwardWeight call{shape, pointers(gradient, sizes, group),
                                        part(x.data<float>(), group, ic), partials.of(group)};
    kernels.backward_weight(call, begin, end, scratch.of_this_thread());
  });
  for_each_item(groups, kernels.reduce_weight_items(shape), [&](int64_t group, int64_t begin, int64_t end) {
    kernels.reduce_weight(shape, partials.of(group), dweight.data<float>() + group * oc * dweight.stride(0),
                          weight_strides(dweight), part(data_or_null(dbias), group, oc), begin, end);
  });
}

}  // namespace tern::kernels
