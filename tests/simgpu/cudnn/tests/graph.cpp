#include <tern/tests/simgpu/cudnn/tests/graph.h>

#include <numeric>

namespace drive {
namespace {

Sizes strides_in_order(const Sizes& dims, const std::vector<size_t>& innermost_first) {
  Sizes strides(dims.size());
  int64_t next = 1;
  for (const size_t d : innermost_first) {
    strides[d] = next;
    next *= dims[d];
  }
  return strides;
}

Sizes filled(const Sizes& given, size_t count, int64_t value) {
  return given.empty() ? Sizes(count, value) : given;
}

Descriptor resample_descriptor(const ResampleOptions& options) {
  const size_t spatial = options.window.size();
  Descriptor resample(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  return resample.set(CUDNN_ATTR_RESAMPLE_MODE, options.mode)
      .set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, options.compute)
      .set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, options.padding)
      .set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, static_cast<int64_t>(spatial))
      .set(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, options.window)
      .set(CUDNN_ATTR_RESAMPLE_STRIDES, filled(options.stride, spatial, 1))
      .set(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, filled(options.pre, spatial, 0))
      .set(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, filled(options.post, spatial, 0))
      .finalize();
}

}  // namespace

Sizes rows(const Sizes& dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  return strides_in_order(dims, order);
}

Sizes channels_last(const Sizes& dims) {
  std::vector<size_t> order = {1};
  for (size_t d = dims.size() - 1; d >= 2; d--) order.push_back(d);
  order.push_back(0);
  return strides_in_order(dims, order);
}

Tensor::Tensor(int64_t u, Sizes d, TensorOptions o)
    : uid(u), dims(std::move(d)), options(std::move(o)), descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
  if (options.strides.empty()) options.strides = rows(dims);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, options.dtype)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .set(CUDNN_ATTR_TENSOR_STRIDES, options.strides)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, options.alignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, options.is_virtual)
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, options.by_value)
      .finalize();
}

void Graph::convolution(Convolution kind, const Tensor& x, const Tensor& w, const Tensor& y,
                        const ConvolutionOptions& options) {
  const size_t spatial = x.dims.size() - 2;
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, options.compute)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, options.mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(spatial))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, filled(options.pre, spatial, 0))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, filled(options.post, spatial, 0))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, filled(options.stride, spatial, 1))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, filled(options.dilation, spatial, 1))
      .finalize();
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
  };
  static const Names names[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  const Names& of = names[static_cast<int>(kind)];
  Descriptor operation(of.type);
  operation.set(of.convolution, convolution).set(of.alpha, options.alpha).set(of.beta, options.beta);
  operation.set(of.x, x.descriptor).set(of.w, w.descriptor).set(of.y, y.descriptor).finalize();
  operations_.push_back(operation);
}

void Graph::pointwise(cudnnPointwiseMode_t mode, const PointwiseTensors& tensors,
                      const PointwiseOptions& options) {
  Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, options.compute);
  for (const auto& [name, number] : options.numbers) pointwise.set(name, number);
  if (options.axis) pointwise.set(CUDNN_ATTR_POINTWISE_AXIS, *options.axis);
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise.finalize());
  const std::pair<cudnnBackendAttributeName_t, const Tensor*> named[] = {
      {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors.x},
      {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors.b},
      {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensors.t},
      {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors.y},
      {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, tensors.dy},
      {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, tensors.dx}};
  for (const auto& [name, tensor] : named) {
    if (tensor != nullptr) operation.set(name, tensor->descriptor);
  }
  if (options.alpha1) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, *options.alpha1);
  if (options.alpha2) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, *options.alpha2);
  operations_.push_back(operation.finalize());
}

void Graph::reduction(cudnnReduceTensorOp_t mode, const Tensor& x, const Tensor& y, cudnnDataType_t compute) {
  Descriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, mode).set(CUDNN_ATTR_REDUCTION_COMP_TYPE, compute).finalize();
  Descriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y.descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::matmul(const Tensor& a, const Tensor& b, const Tensor& c, cudnnDataType_t compute) {
  Descriptor matmul(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  matmul.set(CUDNN_ATTR_MATMUL_COMP_TYPE, compute).finalize();
  Descriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c.descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::resample_forward(const Tensor& x, const Tensor& y, const Tensor* index,
                             const ResampleOptions& options) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, resample_descriptor(options))
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, x.descriptor)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, y.descriptor);
  if (index != nullptr) operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC, index->descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::resample_backward(const Tensors& tensors, const ResampleOptions& options) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, resample_descriptor(options));
  for (const auto& [name, tensor] : tensors) operation.set(name, tensor->descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::norm_forward(cudnnBackendNormMode_t mode, cudnnBackendNormFwdPhase_t phase,
                         const Tensors& tensors) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, mode).set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, phase);
  for (const auto& [name, tensor] : tensors) operation.set(name, tensor->descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::norm_backward(cudnnBackendNormMode_t mode, const Tensors& tensors) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, mode);
  for (const auto& [name, tensor] : tensors) operation.set(name, tensor->descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::reshape(const Tensor& x, const Tensor& y) {
  operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
            {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, &x}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, &y}});
}

void Graph::concatenate(int64_t axis, const std::vector<const Tensor*>& inputs, const Tensor& y) {
  std::vector<Descriptor> descriptors;
  for (const Tensor* input : inputs) descriptors.push_back(input->descriptor);
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONCAT_AXIS, axis)
      .set(CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS, descriptors)
      .set(CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC, y.descriptor);
  operations_.push_back(operation.finalize());
}

void Graph::operation(cudnnBackendDescriptorType_t type, const Tensors& tensors) {
  Descriptor operation(type);
  for (const auto& [name, tensor] : tensors) operation.set(name, tensor->descriptor);
  operations_.push_back(operation.finalize());
}

Descriptor Graph::finalize(cudnnHandle_t handle) const {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  return graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_).finalize();
}

std::vector<Descriptor> engine_configurations(const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                              const Descriptor* device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (device != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize();
  int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "count engine configurations");
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; i++) {
    raw.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()),
        "engine configurations");
  configurations.resize(static_cast<size_t>(count), Descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  return configurations;
}

Descriptor make_plan(cudnnHandle_t handle, const Descriptor& configuration) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  return plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).finalize();
}

}  // namespace drive
