#include <tern/tests/simgpu/cudnn/execute.h>

#include <algorithm>

namespace simdnn {
namespace {

using Pointers = std::map<int64_t, void*>;

Pointers pointers_of(const Plan& plan, const Descriptor& pack) {
  const auto uids = pack.get_all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto given = pack.get_all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Pointers pointers;
  for (size_t i = 0; i < uids.size(); i++) {
    const auto tensor = plan.graph->tensors.find(uids[i]);
    demand(tensor != plan.graph->tensors.end(),
           "the variant pack has tensor " + std::to_string(uids[i]) + ", which the plan has not");
    demand(!tensor->second->is_virtual, describe(*tensor->second) + " is virtual, but has a pointer");
    pointers[uids[i]] = given[i];
  }
  for (const auto& [uid, tensor] : plan.graph->tensors) {
    if (tensor->is_virtual) continue;
    demand(pointers.count(uid) != 0, "the variant pack misses " + describe(*tensor));
    demand(pointers[uid] != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
           "the pointer of " + describe(*tensor) + " is null");
  }
  return pointers;
}

void check_pointer(const Tensor& tensor, const void* pointer, int device) {
  const int at = simgpu::device_of(pointer);
  if (tensor.by_value) {
    demand(at < 0, describe(tensor) + " is given by value, but lies in device memory");
    return;
  }
  demand(at < 0 || at == device, describe(tensor) + " lies on device " + std::to_string(at) +
                                     ", the handle belongs to device " + std::to_string(device));
  demand(reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(tensor.alignment) == 0,
         CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
         "the pointer of " + describe(tensor) + " is not aligned to the " + std::to_string(tensor.alignment) +
             " bytes that its descriptor declares");
}

void* workspace_of(const Plan& plan, const Descriptor& pack, int device) {
  const int64_t needed = plan.engine.workspace_bytes;
  auto* workspace = pack.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (needed == 0) return nullptr;
  demand(workspace != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
         "the plan needs " + std::to_string(needed) + " bytes of workspace, the variant pack has none");
  demand(simgpu::device_of(workspace) == device,
         "the workspace is no memory of the handle's device " + std::to_string(device));
  return workspace;
}

using Range = std::pair<const char*, const char*>;

Range range(const Tensor& tensor, const void* pointer) {
  const auto* begin = static_cast<const char*>(pointer);
  return {begin, begin + static_cast<size_t>(tensor.span()) * element_size(tensor.dtype)};
}

/// An output may share an input's memory only element by element, and nothing with another output.
void check_overlaps(const Plan& plan, Pointers& pointers) {
  const bool elementwise = std::all_of(
      plan.graph->operations.begin(), plan.graph->operations.end(),
      [](const auto& operation) { return operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR; });
  for (const auto& output : plan.graph->outputs) {
    const Range written = range(*output, pointers[output->uid]);
    for (const auto& [uid, other] : plan.graph->tensors) {
      if (other->is_virtual || other->by_value || uid == output->uid) continue;
      const Range at = range(*other, pointers[uid]);
      if (at.first >= written.second || written.first >= at.second) continue;
      const bool same = at.first == written.first && other->dims == output->dims &&
                        other->strides == output->strides && other->dtype == output->dtype;
      demand(same && elementwise && plan.graph->writers.count(uid) == 0,
             describe(*output) + " is written over the memory of " + describe(*other));
    }
  }
}

/// Values given by value are read now; all else when the stream comes to it.
Values given_values(const Plan& plan, Pointers& pointers) {
  Values values;
  for (const auto& tensor : plan.graph->inputs) {
    if (tensor->by_value) values.set(*tensor, read_values(*tensor, pointers[tensor->uid]));
  }
  return values;
}

/// Whether an operation reads more of the tensor than its sizes.
bool is_read(const OperationGraph& graph, const Tensor& tensor) {
  return std::any_of(graph.operations.begin(), graph.operations.end(), [&](const auto& operation) {
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
        operation->mode == CUDNN_POINTWISE_GEN_INDEX) {
      return false;
    }
    return std::any_of(operation->ports.begin(), operation->ports.end(), [&](const Port& port) {
      return *port.tensor == tensor && (!port.is_output || operation->adds_to_output);
    });
  });
}

void compute(const Plan& plan, Values values, Pointers pointers, void* workspace) {
  for (const auto& tensor : plan.graph->inputs) {
    if (!tensor->by_value && is_read(*plan.graph, *tensor)) {
      values.set(*tensor, read_values(*tensor, simgpu::host(pointers[tensor->uid])));
    }
  }
  for (const auto& operation : plan.graph->operations) operation->run(values);
  for (const auto& tensor : plan.graph->outputs) {
    write_values(*tensor, values.at(*tensor), simgpu::host(pointers[tensor->uid]));
  }
  // What an engine leaves in its workspace is nobody's business.
  if (workspace != nullptr) {
    std::memset(simgpu::host(workspace), 0xA5, static_cast<size_t>(plan.engine.workspace_bytes));
  }
}

}  // namespace

void execute(const Handle& handle, const Plan& plan, const Descriptor& pack, cudaStream_t stream) {
  const int current = simgpu::current_device();
  demand(current == handle.device, "the handle belongs to device " + std::to_string(handle.device) +
                                       ", the current device is " + std::to_string(current));
  demand(plan.device < 0 || plan.device == handle.device,
         "the plan was made for device " + std::to_string(plan.device) + ", the handle belongs to device " +
             std::to_string(handle.device));
  Pointers pointers = pointers_of(plan, pack);
  for (const auto& [uid, pointer] : pointers)
    check_pointer(*plan.graph->tensors.at(uid), pointer, handle.device);
  check_overlaps(plan, pointers);
  void* workspace = workspace_of(plan, pack, handle.device);
  std::vector<simgpu::Access> all;
  const auto add = [&](const Tensor& tensor, bool writes) {
    const auto some = accesses(tensor, pointers[tensor.uid], writes);
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const auto& tensor : plan.graph->inputs) {
    if (!tensor->by_value && is_read(*plan.graph, *tensor)) add(*tensor, false);
  }
  for (const auto& tensor : plan.graph->outputs) add(*tensor, true);
  if (workspace != nullptr)
    all.push_back({workspace, static_cast<size_t>(plan.engine.workspace_bytes), true});
  demand(!simgpu::injected("cudnn"), CUDNN_STATUS_EXECUTION_FAILED, "made to fail by SIMGPU_FAIL");
  const cudaError_t error = simgpu::enqueue(stream, std::string("cudnn ") + plan.engine.name, std::move(all),
                                            [plan, values = given_values(plan, pointers), pointers,
                                             workspace] { compute(plan, values, pointers, workspace); });
  demand(error == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
         "the device answers with error " + std::to_string(error));
}

}  // namespace simdnn
