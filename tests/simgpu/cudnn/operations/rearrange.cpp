#include <tern/tests/simgpu/cudnn/operation.h>

namespace simdnn {
namespace {

/// Where the elements of a tensor lie, in the order of its indices.
Sizes places(const Tensor& tensor) {
  Sizes result;
  for_each_index(tensor.dims, [&](const Sizes& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); d++) at += index[d] * tensor.strides[d];
    result.push_back(at);
  });
  return result;
}

}  // namespace

// A reshape moves nothing: y is the memory of x, read with other sizes and strides.
void make_reshape(const Descriptor&, Operation& operation) {
  const auto x = operation.at(CUDNN_ATTR_OPERATION_RESHAPE_XDESC),
             y = operation.at(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  demand(x->count() == y->count(), describe(*x) + " has another number of elements than " + describe(*y));
  demand(x->span() == y->span() && x->span() == x->count(),
         "a reshape needs tensors without gaps: " + describe(*x) + "; " + describe(*y));
  operation.compute = x->dtype;
  operation.run = [=](Values& values) {
    const Sizes from = places(*x), to = places(*y);
    std::vector<double> memory(from.size());
    const Array& input = values.at(*x);
    for (size_t i = 0; i < from.size(); i++) memory[static_cast<size_t>(from[i])] = input.x[i];
    Array result(y->dims);
    for (size_t i = 0; i < to.size(); i++) result.x[i] = memory[static_cast<size_t>(to[i])];
    values.set(*y, std::move(result));
  };
}

// No engine of cuDNN 9.19 does it; the descriptors may be made.
void make_concatenation(const Descriptor& descriptor, Operation& operation) {
  const auto y = operation.at(CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC);
  const auto axis = descriptor.get<int64_t>(CUDNN_ATTR_OPERATION_CONCAT_AXIS);
  demand(axis >= 0 && axis < static_cast<int64_t>(y->rank()),
         "CUDNN_ATTR_OPERATION_CONCAT_AXIS is " + std::to_string(axis) + " for " + describe(*y));
  const auto along = static_cast<size_t>(axis);
  int64_t total = 0;
  for (const Port& port : operation.ports) {
    if (port.is_output) continue;
    Sizes expected = y->dims;
    demand(port.tensor->rank() == y->rank(), describe(*port.tensor) + " is no part of " + describe(*y));
    expected[along] = port.tensor->dims[along];
    demand(port.tensor->dims == expected, describe(*port.tensor) + " is no part of " + describe(*y));
    total += expected[along];
  }
  demand(total == y->dims[along],
         "the inputs have " + std::to_string(total) + " along the axis: " + describe(*y));
  operation.missing = "concatenation has no engine";
}

}  // namespace simdnn
