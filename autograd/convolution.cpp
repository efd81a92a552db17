#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/record.h>
#include <tern/autograd/views.h>

namespace tern {
namespace {

// Runs `operation` on images [N, C, H, W]; a single image [C, H, W] becomes a batch of one on the way.
template <class Operation>
Tensor batched(const Tensor& x, Operation&& operation) {
  return x.dim() == 3 ? squeeze(operation(unsqueeze(x, 0)), 0) : operation(x);
}

// What backward of a convolution keeps: its input and weight, and of fused passes the result and where its
// maxima were.
struct SavedConv2d {
  SavedTensor x, weight, y, argmax;
  Conv2dOptions options;

  Gradients operator()(const Tensor& dy, Wants wants) const {
    const kernels::Conv2dOutputGradient gradient{dy, y.get(), argmax.get()};
    Gradients gradients(3, Tensor());
    if (wants[0])
      gradients[0] = kernels::conv2d_backward_data(gradient, weight.get(), x.get().shape(), options);
    if (wants[1] || wants[2]) {
      const auto parts = kernels::conv2d_backward_weight(gradient, x.get(), weight.get(), options, wants[2]);
      gradients[1] = parts.dweight;
      gradients[2] = parts.dbias;
    }
    return gradients;
  }
};

Tensor conv2d_batch(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options,
                    bool with_relu) {
  Tensor y = kernels::conv2d(x, weight, bias, options, with_relu);
  return record(with_relu ? "conv2d_relu" : "conv2d", y, {x, weight, bias},
                SavedConv2d{SavedTensor(x), SavedTensor(weight), SavedTensor(with_relu ? y : Tensor()),
                            SavedTensor(), options});
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  return batched(x, [&](const Tensor& images) { return conv2d_batch(images, weight, bias, options, false); });
}

Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  return batched(x, [&](const Tensor& images) { return conv2d_batch(images, weight, bias, options, true); });
}

Tensor conv2d_relu_max_pool2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Conv2dOptions& options) {
  return batched(x, [&](const Tensor& images) {
    if (!kernels::fuses_max_pool(images, weight, options)) {
      return max_pool2d(conv2d_batch(images, weight, bias, options, true), 2);
    }
    const kernels::PooledConv2d pooled = kernels::conv2d_relu_max_pool(images, weight, bias, options);
    return record("conv2d_relu_max_pool2d", pooled.y, {images, weight, bias},
                  SavedConv2d{SavedTensor(images), SavedTensor(weight), SavedTensor(pooled.y),
                              SavedTensor(pooled.argmax), options});
  });
}

Tensor max_pool2d(const Tensor& x, Size2 kernel_size, const MaxPool2dOptions& options) {
  return batched(x, [&](const Tensor& images) {
    const kernels::MaxPool2d pooled = kernels::max_pool2d(images, kernel_size, options);
    return record("max_pool2d", pooled.y, {images},
                  [argmax = SavedTensor(pooled.argmax), shape = images.shape(), kernel_size,
                   options](const Tensor& dy) -> Gradients {
                    return {kernels::max_pool2d_backward(dy, argmax.get(), shape, kernel_size, options)};
                  });
  });
}

}  // namespace tern
