#include <tern/autograd/batched.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/reduce.h>

namespace tern {
namespace {

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

// y = the gradient that conv2d with this weight has for its input when x arrives at its output; so dx =
// conv2d(dy, weight), and dweight is conv2d's for input dy and gradient x.
Tensor conv_transpose_batch(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const ConvTranspose2dOptions& options) {
  return record("conv_transpose2d", kernels::conv_transpose2d(x, weight, bias, options), {x, weight, bias},
                [x = SavedTensor(x), weight = SavedTensor(weight), options](const Tensor& dy,
                                                                            Wants wants) -> Gradients {
                  const Conv2dOptions conv{options.stride, options.padding, options.dilation, options.groups};
                  Gradients gradients(3, Tensor());
                  if (wants[0]) gradients[0] = kernels::conv2d(dy, weight.get(), Tensor(), conv);
                  if (wants[1]) {
                    const kernels::Conv2dOutputGradient arrived{x.get(), Tensor(), Tensor()};
                    gradients[1] =
                        kernels::conv2d_backward_weight(arrived, dy, weight.get(), conv, false).dweight;
                  }
                  if (wants[2]) gradients[2] = kernels::sum(dy, {0, 2, 3});
                  return gradients;
                });
}

// x with zeros behind its last row or column, as many as whole strides fit into output_padding: where that
// reaches beyond stride (it may, below dilation), a convolution of the result has so many windows more.
Tensor with_more_windows(const Tensor& x, int64_t dim, int64_t output_padding, int64_t stride) {
  if (output_padding < stride) return x;
  Shape shape = x.shape();
  shape[dim] = output_padding / stride;
  return cat({x, zeros(shape, x.dtype(), x.device())}, dim);
}

// Runs `operation` on lines [N, C, L] (or [C, L]) and their weight [OC, C / groups, K] as images of height 1.
template <class Operation>
Tensor as_images(const char* name, const Tensor& x, const Tensor& weight, Operation&& operation) {
  const OperationScope scope(name);
  check((x.dim() == 2 || x.dim() == 3) && weight.dim() == 3, name,
        ": needs an input [N, C, L] or [C, L] and a weight of 3 dimensions, got ", x.shape(), " and ",
        weight.shape());
  return squeeze(operation(unsqueeze(x, -2), unsqueeze(weight, -2)), -2);
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const OperationScope scope("conv2d");
  return batched(x, [&](const Tensor& images) { return conv2d_batch(images, weight, bias, options, false); });
}

Tensor conv2d_relu(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const OperationScope scope("conv2d_relu");
  return batched(x, [&](const Tensor& images) { return conv2d_batch(images, weight, bias, options, true); });
}

Tensor conv2d_relu_max_pool2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Conv2dOptions& options) {
  const OperationScope scope("conv2d_relu_max_pool2d");
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

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& o) {
  return as_images("conv1d", x, weight, [&](const Tensor& images, const Tensor& kernel) {
    return conv2d(images, kernel, bias, {{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups});
  });
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const OperationScope scope("conv_transpose2d");
  return batched(x, [&](const Tensor& images) {
    kernels::conv_transpose2d_shape(images.shape(), weight.shape(), options);
    const Size2 stride = options.stride, padding = options.output_padding;
    const Tensor rows = with_more_windows(images, 2, padding.h, stride.h);
    ConvTranspose2dOptions rest = options;
    rest.output_padding = {padding.h % stride.h, padding.w % stride.w};
    return conv_transpose_batch(with_more_windows(rows, 3, padding.w, stride.w), weight, bias, rest);
  });
}

}  // namespace tern
