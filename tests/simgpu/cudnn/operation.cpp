#include <tern/tests/simgpu/cudnn/operation.h>

#include <algorithm>

namespace simdnn {
namespace {

bool is_output(cudnnBackendAttributeName_t role) {
  static const cudnnBackendAttributeName_t outputs[] = {
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
      CUDNN_ATTR_OPERATION_MATMUL_CDESC,
      CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
      CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
      CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC,
      CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC,
      CUDNN_ATTR_OPERATION_NORM_FWD_YDESC,
      CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC,
      CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC,
      CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
      CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
      CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC,
      CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
      CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC,
      CUDNN_ATTR_OPERATION_RNG_YDESC,
      CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
      CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC};
  return std::find(std::begin(outputs), std::end(outputs), role) != std::end(outputs);
}

/// A norm's mean and inverse variance come out of a training pass and go into an inference.
bool is_norm_statistic(const Descriptor& descriptor, cudnnBackendAttributeName_t role) {
  return descriptor.type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR &&
         (role == CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC ||
          role == CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC) &&
         descriptor.get<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) ==
             CUDNN_NORM_FWD_TRAINING;
}

/// Random numbers come from the device's own generator, whose bits aren't known.
void make_random(const Descriptor&, Operation& operation) {
  operation.missing = "random numbers are not simulated";
}

using Maker = void (*)(const Descriptor&, Operation&);

const std::map<cudnnBackendDescriptorType_t, Maker>& makers() {
  static const std::map<cudnnBackendDescriptorType_t, Maker> table = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, make_convolution},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, make_convolution},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, make_convolution},
      {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, make_pointwise},
      {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, make_reduction},
      {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, make_matmul},
      {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, make_resample_forward},
      {CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, make_resample_backward},
      {CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, make_norm_forward},
      {CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, make_norm_backward},
      {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, make_reshape},
      {CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, make_concatenation},
      {CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, make_random},
      {CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, make_attention}};
  return table;
}

}  // namespace

const Array& Values::at(const Tensor& tensor) const { return arrays_.at(key_of(tensor)); }

void Values::set(const Tensor& tensor, Array array) {
  for (double& value : array.x) value = rounded(value, tensor.dtype);
  arrays_[key_of(tensor)] = std::move(array);
}

std::shared_ptr<const Tensor> Operation::at(cudnnBackendAttributeName_t role) const {
  for (const Port& port : ports) {
    if (port.role == role) return port.tensor;
  }
  return nullptr;
}

const Tensor& Operation::need(cudnnBackendAttributeName_t role) const {
  const auto found = at(role);
  const Attribute* attribute = find_attribute(type, role);
  demand(found != nullptr, std::string(attribute == nullptr ? "a tensor" : attribute->text) +
                               " is not set, and this mode needs it");
  return *found;  // the port keeps it
}

std::shared_ptr<const Operation> make_operation(const Descriptor& descriptor) {
  auto operation = std::make_shared<Operation>();
  operation->type = descriptor.type;
  for (const auto& [role, value] : descriptor.values) {
    if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
    if (value.attribute->refers != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
    for (const auto& tensor : value.descriptors) {
      operation->ports.push_back(
          {role, tensor->tensor, is_output(role) || is_norm_statistic(descriptor, role)});
      demand(!tensor->tensor->by_value || !operation->ports.back().is_output,
             describe(*tensor->tensor) + " is given by value, so it cannot be written");
    }
  }
  makers().at(descriptor.type)(descriptor, *operation);
  return operation;
}

}  // namespace simdnn
