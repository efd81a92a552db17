// The exported functions of the stand-in libcudnn.so.9.

#include <tern/tests/simgpu/cudnn/answers.h>
#include <tern/tests/simgpu/cudnn/execute.h>

#include <algorithm>

using namespace simdnn;

namespace {

void watch_for_leaks() {
  static const bool watched = [] {
    simgpu::at_exit_check("cuDNN handle", [] { return handles().size(); });
    simgpu::at_exit_check("cuDNN descriptor", [] { return descriptors().size(); });
    return true;
  }();
  static_cast<void>(watched);
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetMaxDeviceVersion() { return 1299; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) { return status_name(status); }

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message == nullptr || max_size == 0) return;
  const std::string text = take_last_error();
  const size_t length = std::min(text.size(), max_size - 1);
  std::copy_n(text.begin(), length, message);
  message[length] = '\0';
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  return answer("cudnnGetProperty", [=] {
    demand(value != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the answer's pointer is null");
    *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  });
}

cudnnStatus_t cudnnGraphVersionCheck() { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return answer("cudnnCreate", [=] {
    demand(handle != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the handle's pointer is null");
    demand(!simgpu::injected("cudnnCreate"), CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
           "made to fail by SIMGPU_FAIL");
    int devices = 0;
    demand(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0, CUDNN_STATUS_NOT_INITIALIZED,
           "there is no device");
    watch_for_leaks();
    *handle = static_cast<cudnnHandle_t>(
        handles().add(std::make_shared<Handle>(Handle{simgpu::current_device(), nullptr})));
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return answer("cudnnDestroy", [=] { handles().remove(handle); });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return answer("cudnnSetStream", [=] {
    const auto found = handles().get(handle);
    const int device = simgpu::device_of_stream(stream);
    // The default streams are of whatever device is current.
    const bool is_default = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    demand(is_default || device == found->device, CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
           "the stream is of device " + std::to_string(device) + ", the handle of device " +
               std::to_string(found->device));
    found->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return answer("cudnnGetStream", [=] {
    demand(stream != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the answer's pointer is null");
    *stream = handles().get(handle)->stream;
  });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  return answer("cudnnBackendCreateDescriptor", [=] {
    demand(descriptor != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor's pointer is null");
    demand(!attributes_of(type).empty(), CUDNN_STATUS_NOT_SUPPORTED,
           descriptor_name(type) + " is not simulated");
    watch_for_leaks();
    auto made = std::make_shared<Descriptor>();
    made->type = type;
    *descriptor = descriptors().add(std::move(made));
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return answer("cudnnBackendDestroyDescriptor", [=] { descriptors().remove(descriptor); });
}

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return answer("cudnnBackendInitialize", [=] {
    const auto found = descriptors().get(descriptor);
    *found =
        Descriptor{.type = found->type, .values = {}, .tensor = {}, .operation = {}, .graph = {}, .plan = {}};
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  return answer("cudnnBackendSetAttribute",
                [=] { set_attribute(*descriptors().get(descriptor), name, type, count, elements); });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t* count,
                                       void* elements) {
  return answer("cudnnBackendGetAttribute",
                [=] { get_attribute(*descriptors().get(descriptor), name, type, room, count, elements); });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return answer("cudnnBackendFinalize", [=] { finalize(*descriptors().get(descriptor)); });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return answer("cudnnBackendExecute", [=] {
    const auto owner = handles().get(handle);
    const auto of_plan = descriptors().get(plan), of_pack = descriptors().get(pack);
    demand(of_plan->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           "the plan is a " + descriptor_name(of_plan->type));
    demand(of_pack->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           "the variant pack is a " + descriptor_name(of_pack->type));
    demand(of_plan->is_finalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan is not finalised");
    demand(of_pack->is_finalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the variant pack is not finalised");
    execute(*owner, *of_plan->plan, *of_pack, owner->stream);
  });
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                            cudnnBackendDescriptor_t, cudaGraph_t) {
  return answer("cudnnBackendPopulateCudaGraph", [=] {
    handles().get(handle);
    descriptors().get(plan);
    // Engines say so by CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API, which none of these has.
    demand(false, CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API,
           "the engine has no native CUDA graphs: capture a stream");
  });
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                          cudnnBackendDescriptor_t pack, cudaGraph_t graph) {
  return cudnnBackendPopulateCudaGraph(handle, plan, pack, graph);
}
}
