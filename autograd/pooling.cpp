#include <tern/autograd/batched.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>

namespace tern {
namespace {

// max_pool2d of a batch, and what names its maxima.
struct MaxPooled {
  Tensor y, argmax;
};

MaxPooled max_pool_batch(const Tensor& images, Size2 kernel, const MaxPool2dOptions& options) {
  const kernels::MaxPool2d pooled = kernels::max_pool2d(images, kernel, options);
  return {record("max_pool2d", pooled.y, {images},
                 [argmax = pooled.argmax, shape = images.shape(), kernel,
                  options](const Tensor& dy) -> Gradients {
                   return {kernels::max_pool2d_backward(dy, argmax, shape, kernel, options)};
                 }),
          pooled.argmax};
}

Tensor average(const char* operation, const Tensor& images, const kernels::PoolSpans& spans) {
  return record(operation, kernels::average_pool(operation, images, spans), {images},
                [spans, shape = images.shape()](const Tensor& dy) -> Gradients {
                  return {kernels::average_pool_backward(dy, shape, spans)};
                });
}

ValuesAndIndices adaptive_max(const Tensor& images, const OutputSize2& size) {
  const char* operation = "adaptive_max_pool2d";
  const ValuesAndIndices pooled =
      kernels::span_max_pool(operation, images, kernels::adaptive_spans(operation, images.shape(), size));
  return {
      record(operation, pooled.values, {images},
             [indices = SavedTensor(pooled.indices), shape = images.shape()](const Tensor& dy) -> Gradients {
               return {kernels::span_max_pool_backward(dy, indices.get(), shape)};
             }),
      pooled.indices};
}

// Values and indices of a batch; a single image [C, H, W] becomes one on the way.
template <class Operation>
ValuesAndIndices both_batched(const Tensor& x, Operation&& operation) {
  if (x.dim() != 3) return operation(x);
  const ValuesAndIndices result = operation(unsqueeze(x, 0));
  return {squeeze(result.values, 0), squeeze(result.indices, 0)};
}

// Runs `operation` on lines [N, C, L] or [C, L] as images of height 1.
template <class Operation>
Tensor as_images(const char* name, const Tensor& x, Operation&& operation) {
  const OperationScope scope(name);
  check(x.dim() == 2 || x.dim() == 3, name, ": input must be [N, C, L] or [C, L], got ", x.shape());
  return squeeze(operation(unsqueeze(x, -2)), -2);
}

std::optional<Size2> wide_stride(std::optional<int64_t> stride) {
  return stride ? std::optional(Size2(1, *stride)) : std::nullopt;
}

}  // namespace

Tensor max_pool2d(const Tensor& x, Size2 kernel_size, const MaxPool2dOptions& options) {
  const OperationScope scope("max_pool2d");
  return batched(x, [&](const Tensor& images) { return max_pool_batch(images, kernel_size, options).y; });
}

ValuesAndIndices max_pool2d_with_indices(const Tensor& x, Size2 kernel_size,
                                         const MaxPool2dOptions& options) {
  const OperationScope scope("max_pool2d_with_indices");
  return both_batched(x, [&](const Tensor& images) -> ValuesAndIndices {
    const MaxPooled pooled = max_pool_batch(images, kernel_size, options);
    return {pooled.y, kernels::max_pool2d_indices(pooled.argmax, images.shape(), kernel_size, options)};
  });
}

Tensor avg_pool2d(const Tensor& x, Size2 kernel_size, const AvgPool2dOptions& options) {
  const OperationScope scope("avg_pool2d");
  return batched(x, [&](const Tensor& images) {
    return average("avg_pool2d", images, kernels::avg_pool2d_spans(images.shape(), kernel_size, options));
  });
}

Tensor adaptive_avg_pool2d(const Tensor& x, const OutputSize2& output_size) {
  const OperationScope scope("adaptive_avg_pool2d");
  return batched(x, [&](const Tensor& images) {
    const char* operation = "adaptive_avg_pool2d";
    return average(operation, images, kernels::adaptive_spans(operation, images.shape(), output_size));
  });
}

Tensor adaptive_max_pool2d(const Tensor& x, const OutputSize2& output_size) {
  const OperationScope scope("adaptive_max_pool2d");
  return batched(x, [&](const Tensor& images) { return adaptive_max(images, output_size).values; });
}

ValuesAndIndices adaptive_max_pool2d_with_indices(const Tensor& x, const OutputSize2& output_size) {
  const OperationScope scope("adaptive_max_pool2d_with_indices");
  return both_batched(x, [&](const Tensor& images) { return adaptive_max(images, output_size); });
}

Tensor max_pool1d(const Tensor& x, int64_t kernel_size, const MaxPool1dOptions& options) {
  return as_images("max_pool1d", x, [&](const Tensor& images) {
    return max_pool2d(
        images, {1, kernel_size},
        {wide_stride(options.stride), {0, options.padding}, {1, options.dilation}, options.ceil_mode});
  });
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel_size, const AvgPool1dOptions& options) {
  return as_images("avg_pool1d", x, [&](const Tensor& images) {
    return avg_pool2d(
        images, {1, kernel_size},
        {wide_stride(options.stride), {0, options.padding}, options.ceil_mode, options.count_include_pad});
  });
}

}  // namespace tern
