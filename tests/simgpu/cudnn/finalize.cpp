#include <tern/tests/simgpu/cudnn/engines.h>
#include <tern/tests/simgpu/cudnn/finalize.h>

#include <algorithm>
#include <set>

namespace simdnn {
namespace {

void finalize_tensor(Descriptor& descriptor) {
  auto tensor = std::make_shared<Tensor>();
  tensor->uid = descriptor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor->dtype = descriptor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  tensor->dims = descriptor.get_all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor->strides = descriptor.get_all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor->alignment = descriptor.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor->is_virtual = descriptor.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  tensor->by_value = descriptor.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  const auto element = static_cast<int64_t>(element_size(tensor->dtype));
  tensor->is_special = element == 0 || descriptor.has(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC) ||
                       descriptor.get<int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) != 1 ||
                       descriptor.get<int>(CUDNN_ATTR_TENSOR_REORDERING_MODE, 0) != 0;
  const std::string text = describe(*tensor);
  demand(tensor->dims.size() == tensor->strides.size(), "dimensions and strides differ in number: " + text);
  for (size_t d = 0; d < tensor->rank(); d++) {
    demand(tensor->dims[d] > 0, "a dimension is not positive: " + text);
    demand(tensor->strides[d] >= 0, "a stride is negative: " + text);
  }
  const int64_t alignment = tensor->alignment;
  demand(alignment > 0 && (element == 0 || alignment % element == 0),
         "CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT is " + std::to_string(alignment) +
             ", no multiple of an element: " + text);
  demand(!tensor->by_value || (tensor->count() == 1 && !tensor->is_virtual),
         "only one element in memory can be given by value: " + text);
  descriptor.tensor = std::move(tensor);
}

void check_all(const Descriptor& descriptor, cudnnBackendAttributeName_t name, size_t count, int64_t least) {
  const Sizes values = descriptor.get_all<int64_t>(name);
  const std::string text = find_attribute(descriptor.type, name)->text;
  demand(values.size() == count, text + " has " + std::to_string(values.size()) + " elements for " +
                                     std::to_string(count) + " spatial dimensions");
  demand(std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= least; }),
         text + " is " + list(values) + ", at least " + std::to_string(least) + " is needed");
}

void finalize_convolution(const Descriptor& descriptor) {
  const auto count = static_cast<size_t>(descriptor.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  check_all(descriptor, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, count, 0);
  check_all(descriptor, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, count, 0);
  check_all(descriptor, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, count, 1);
  check_all(descriptor, CUDNN_ATTR_CONVOLUTION_DILATIONS, count, 1);
}

void finalize_resample(const Descriptor& descriptor) {
  const auto count = descriptor.get<int64_t>(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
  for (const auto name : {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES,
                          CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS}) {
    demand(descriptor.values.at(name).count == count,
           std::string(find_attribute(descriptor.type, name)->text) +
               " and the spatial dimensions differ in number");
    if (descriptor.values.at(name).type != CUDNN_TYPE_INT64) continue;
    const bool positive = name == CUDNN_ATTR_RESAMPLE_WINDOW_DIMS || name == CUDNN_ATTR_RESAMPLE_STRIDES;
    check_all(descriptor, name, static_cast<size_t>(count), positive ? 1 : 0);
  }
}

void finalize_device_properties(Descriptor& descriptor) {
  descriptor.capability = simgpu::compute_capability();
  if (!descriptor.has(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)) return;
  const std::vector<char> characters = descriptor.get_all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  const std::string text(characters.begin(), characters.end()), key = "\"deviceVer\":";
  const size_t at = text.find(key);
  demand(at != std::string::npos, "the device properties name no deviceVer");
  descriptor.capability = std::stoi(text.substr(at + key.size())) / 10;
}

void finalize_graph(Descriptor& descriptor) {
  std::vector<std::shared_ptr<const Operation>> operations;
  for (const auto& operation : descriptor.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    operations.push_back(operation->operation);
  }
  descriptor.graph = make_graph(std::move(operations));
}

/// Of the properties that a descriptor has, or of the current device.
int capability_of(const Descriptor& descriptor, cudnnBackendAttributeName_t properties) {
  const Descriptor* device = descriptor.descriptor(properties);
  return device == nullptr ? simgpu::compute_capability() : device->capability;
}

void finalize_engine(Descriptor& descriptor) {
  descriptor.graph = descriptor.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;
  descriptor.capability = capability_of(descriptor, CUDNN_ATTR_ENGINE_DEVICEPROP);
  const auto index = descriptor.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  find_engine(*descriptor.graph, descriptor.capability, index);
}

void finalize_plan(Descriptor& descriptor) {
  const Descriptor& engine = *descriptor.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                                  ->descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
  auto plan = std::make_shared<Plan>();
  const bool has_handle = descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  demand(has_handle || descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP),
         "neither CUDNN_ATTR_EXECUTION_PLAN_HANDLE nor CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP is set");
  if (has_handle)
    plan->device = handles().get(descriptor.get<void*>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))->device;
  plan->graph = engine.graph;
  plan->engine =
      find_engine(*engine.graph, engine.capability, engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  descriptor.plan = std::move(plan);
}

void finalize_variant_pack(const Descriptor& descriptor) {
  const Sizes uids = descriptor.get_all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const int64_t pointers = descriptor.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count;
  demand(static_cast<int64_t>(uids.size()) == pointers, "the variant pack has " +
                                                            std::to_string(uids.size()) + " numbers and " +
                                                            std::to_string(pointers) + " pointers");
  std::set<int64_t> seen;
  for (const int64_t uid : uids) {
    demand(seen.insert(uid).second, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
           "the variant pack has tensor " + std::to_string(uid) + " twice");
  }
}

}  // namespace

void finalize_meaning(Descriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_convolution(descriptor);
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return finalize_resample(descriptor);
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return finalize_device_properties(descriptor);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      descriptor.capability = capability_of(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
      return;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return finalize_variant_pack(descriptor);
    default:
      if (is_operation(descriptor.type)) descriptor.operation = make_operation(descriptor);
  }
}

}  // namespace simdnn
