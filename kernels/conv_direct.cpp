#include <tern/core/thread_pool.h>
#include <tern/kernels/conv_direct.h>
#include <tern/kernels/simd/conv.h>

namespace tern::kernels {
namespace {

simd::ConvShape direct_shape(const ConvSizes& s, bool pool) {
  const Conv2dOptions& o = s.options;
  return {s.n,  s.h,  s.w,        s.ic,       s.oh,        s.ow,        s.oc,
          s.kh, s.kw, o.stride.h, o.stride.w, o.padding.h, o.padding.w, pool};
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

simd::ConvOutputGradient pointers(const Conv2dOutputGradient& gradient) {
  return {gradient.dy.data<float>(), gradient.y.defined() ? gradient.y.data<float>() : nullptr,
          gradient.argmax.defined() ? gradient.argmax.data<uint8_t>() : nullptr};
}

}  // namespace

void conv_direct_forward(const ConvSizes& sizes, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         bool relu, const Tensor& y, const Tensor& argmax) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, argmax.defined());
  const Tensor packed = empty({kernels.forward_packed(shape)}, float32, x.device());
  parallel_for(kernels.pack_forward_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.pack_forward(shape, weight.data<float>(), weight_strides(weight), packed.data<float>(), begin,
                         end);
  });
  const simd::ConvForward call{shape,
                               x.data<float>(),
                               packed.data<float>(),
                               bias.defined() ? bias.data<float>() : nullptr,
                               relu,
                               y.data<float>(),
                               argmax.defined() ? argmax.data<uint8_t>() : nullptr};
  const Scratch scratch(kernels.forward_scratch(shape), x.device());
  parallel_for(kernels.forward_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.forward(call, begin, end, scratch.of_this_thread());
  });
}

void conv_direct_backward_data(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                               const Tensor& weight, const Tensor& dx) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, gradient.argmax.defined());
  const Tensor packed = empty({kernels.backward_data_packed(shape)}, float32, dx.device());
  parallel_for(kernels.pack_backward_data_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.pack_backward_data(shape, weight.data<float>(), weight_strides(weight), packed.data<float>(),
                               begin, end);
  });
  const simd::ConvBackwardData call{shape, pointers(gradient), packed.data<float>(), nullptr,
                                    dx.data<float>()};
  const Scratch scratch(kernels.backward_data_scratch(shape), dx.device());
  parallel_for(kernels.backward_data_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.backward_data(call, begin, end, scratch.of_this_thread());
  });
}

void conv_direct_backward_weight(const ConvSizes& sizes, const Conv2dOutputGradient& gradient,
                                 const Tensor& x, const Tensor& dweight, const Tensor& dbias) {
  const simd::ConvKernels& kernels = simd::conv_kernels();
  const simd::ConvShape shape = direct_shape(sizes, gradient.argmax.defined());
  const Tensor partials = empty({kernels.backward_weight_partials(shape)}, float32, x.device());
  const simd::ConvBackwardWeight call{shape, pointers(gradient), x.data<float>(), partials.data<float>()};
  const Scratch scratch(kernels.backward_weight_scratch(shape), x.device());
  parallel_for(kernels.backward_weight_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.backward_weight(call, begin, end, scratch.of_this_thread());
  });
  parallel_for(kernels.reduce_weight_items(shape), 1, [&](int64_t begin, int64_t end) {
    kernels.reduce_weight(shape, partials.data<float>(), dweight.data<float>(), weight_strides(dweight),
                          dbias.defined() ? dbias.data<float>() : nullptr, begin, end);
  });
}

}  // namespace tern::kernels
