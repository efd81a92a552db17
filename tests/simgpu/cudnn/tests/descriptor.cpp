#include <tern/tests/simgpu/cudnn/tests/descriptor.h>

namespace drive {

CudnnError::CudnnError(const std::string& call, cudnnStatus_t s)
    : std::runtime_error(call + ": " + cudnnGetErrorString(s) + ": " + last_error()), status(s) {}

void check(cudnnStatus_t status, const std::string& call) {
  if (status != CUDNN_STATUS_SUCCESS) throw CudnnError(call, status);
}

std::string last_error() {
  char text[1024] = "";
  cudnnGetLastErrorString(text, sizeof(text));
  return text;
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "create descriptor " + std::to_string(type));
  raw_ = {raw, [destroyed = destroyed_](void* p) {
            if (!*destroyed) cudnnBackendDestroyDescriptor(p);
          }};
}

Descriptor& Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(raw_.get(), name, type, count, values), "set " + std::to_string(name));
  return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  cudnnBackendDescriptor_t raw = other.get();
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& other : others) raw.push_back(other.get());
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
}

Descriptor& Descriptor::finalize() {
  check(cudnnBackendFinalize(raw_.get()), "finalize");
  return *this;
}

void Descriptor::destroy() {
  *destroyed_ = true;
  check(cudnnBackendDestroyDescriptor(raw_.get()), "destroy");
}

}  // namespace drive
