#include <tern/tests/simgpu/cudnn/operation.h>

#include <cmath>
#include <limits>

namespace simdnn {
namespace {

double start(cudnnReduceTensorOp_t mode) {
  switch (mode) {
    case CUDNN_REDUCE_TENSOR_MUL:
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
      return 1;
    case CUDNN_REDUCE_TENSOR_MIN:
      return std::numeric_limits<double>::infinity();
    case CUDNN_REDUCE_TENSOR_MAX:
      return -std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

double combined(cudnnReduceTensorOp_t mode, double sum, double x) {
  switch (mode) {
    case CUDNN_REDUCE_TENSOR_MUL:
      return sum * x;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
      return x == 0 ? sum : sum * x;
    case CUDNN_REDUCE_TENSOR_MIN:
      return std::isnan(x) || x < sum ? x : sum;
    case CUDNN_REDUCE_TENSOR_MAX:
      return std::isnan(x) || x > sum ? x : sum;
    case CUDNN_REDUCE_TENSOR_AMAX:
      return std::isnan(x) || std::abs(x) > sum ? std::abs(x) : sum;
    case CUDNN_REDUCE_TENSOR_NORM1:
      return sum + std::abs(x);
    case CUDNN_REDUCE_TENSOR_NORM2:
      return sum + x * x;
    default:
      return sum + x;
  }
}

void check_reduced(const Tensor& from, const Tensor& to) {
  bool fits = from.rank() == to.rank();
  for (size_t d = 0; fits && d < to.rank(); d++) fits = to.dims[d] == 1 || to.dims[d] == from.dims[d];
  demand(fits, describe(from) + " is not reduced to " + describe(to));
}

Array reduce(cudnnReduceTensorOp_t mode, const Array& from, const Sizes& to) {
  Array result(to, start(mode));
  size_t next = 0;
  for_each_index(from.dims, [&](const Sizes& index) {
    double& at = result.x[static_cast<size_t>(broadcast_offset(result, index))];
    at = combined(mode, at, from.x[next++]);
  });
  const double count = static_cast<double>(from.x.size()) / static_cast<double>(result.x.size());
  for (double& value : result.x) {
    if (mode == CUDNN_REDUCE_TENSOR_AVG) value /= count;
    if (mode == CUDNN_REDUCE_TENSOR_NORM2) value = std::sqrt(value);
  }
  return result;
}

}  // namespace

void make_reduction(const Descriptor& descriptor, Operation& operation) {
  const Descriptor& reduction = *descriptor.descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  const auto mode = reduction.get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  demand(mode >= CUDNN_REDUCE_TENSOR_ADD && mode <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS,
         "there is no reduction " + std::to_string(mode));
  operation.mode = mode;
  operation.compute = reduction.get<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE);
  const auto x = operation.at(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  const auto y = operation.at(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  check_reduced(*x, *y);
  operation.run = [=](Values& values) { values.set(*y, reduce(mode, values.at(*x), y->dims)); };
}

}  // namespace simdnn
