#include <tern/tests/simgpu/cudnn/operation.h>
#include <tern/tests/simgpu/cudnn/operations/pointwise_math.h>

#include <limits>

namespace simdnn {
namespace {

void check_broadcast(const Tensor& from, const Tensor& to) {
  bool fits = from.rank() == to.rank();
  for (size_t d = 0; fits && d < to.rank(); d++) fits = from.dims[d] == 1 || from.dims[d] == to.dims[d];
  demand(fits, describe(from) + " is not broadcast to " + describe(to));
}

PointwiseNumbers numbers_of(const Descriptor& pointwise) {
  return {
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0),
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::numeric_limits<double>::infinity()),
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0),
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1),
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1),
      pointwise.get<double>(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1)};
}

/// y[i] = i[axis]
std::function<void(Values&)> generate_index(const std::shared_ptr<const Tensor>& y, int64_t axis) {
  demand(axis >= 0 && axis < static_cast<int64_t>(y->rank()),
         "CUDNN_ATTR_POINTWISE_AXIS is " + std::to_string(axis) + " for " + describe(*y));
  return [=](Values& values) {
    Array result(y->dims);
    size_t next = 0;
    for_each_index(y->dims, [&](const Sizes& index) {
      result.x[next++] = static_cast<double>(index[static_cast<size_t>(axis)]);
    });
    values.set(*y, std::move(result));
  };
}

}  // namespace

void make_pointwise(const Descriptor& descriptor, Operation& operation) {
  const Descriptor& pointwise = *descriptor.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = pointwise.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const int inputs = pointwise_inputs(mode);
  demand(inputs > 0, "there is no pointwise mode " + std::to_string(mode));
  operation.mode = mode;
  operation.compute = pointwise.get<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC);
  const bool backward = is_backward(mode);
  operation.need(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const auto y =
      operation.at(backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const auto x = operation.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const auto second = backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_BDESC;
  if (inputs >= 2) check_broadcast(operation.need(second), *y);
  if (inputs >= 3) check_broadcast(operation.need(CUDNN_ATTR_OPERATION_POINTWISE_TDESC), *y);
  demand((inputs >= 2) == (operation.at(second) != nullptr),
         "pointwise mode " + std::to_string(mode) + " reads one tensor, but has a second");
  check_broadcast(*x, *y);
  if (mode == CUDNN_POINTWISE_GEN_INDEX) {
    operation.run = generate_index(y, pointwise.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1));
    return;
  }
  const auto b = operation.at(second), t = operation.at(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  const double alpha1 = descriptor.get<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  const double alpha2 = descriptor.get<float>(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  const PointwiseNumbers numbers = numbers_of(pointwise);
  operation.run = [=](Values& values) {
    const auto get = [&](const std::shared_ptr<const Tensor>& tensor, const Sizes& index) {
      if (tensor == nullptr) return 0.0;
      const Array& array = values.at(*tensor);
      return array.x[static_cast<size_t>(broadcast_offset(array, index))];
    };
    Array result(y->dims);
    size_t next = 0;
    for_each_index(y->dims, [&](const Sizes& index) {
      result.x[next++] =
          pointwise_value(mode, numbers, alpha1 * get(x, index), alpha2 * get(b, index), get(t, index));
    });
    values.set(*y, std::move(result));
  };
}

}  // namespace simdnn
