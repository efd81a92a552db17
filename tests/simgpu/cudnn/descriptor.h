// A backend descriptor: attributes that were set, and what finalising made of them. The mutable state of one
// is its creator's until it is finalised; from then on it never changes, so that those it is given to may
// share it.

#pragma once

#include <tern/tests/simgpu/cudnn/attributes.h>
#include <tern/tests/simgpu/cudnn/registry.h>
#include <tern/tests/simgpu/cudnn/tensor.h>

#include <cstring>
#include <optional>

namespace simdnn {

struct Operation;
struct OperationGraph;
struct Plan;

/// A handle: the device that was current when it was made, and its stream.
struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
};

struct Descriptor {
  struct Value {
    const Attribute* attribute;
    cudnnBackendAttributeType_t type;
    int64_t count;
    std::vector<unsigned char> bytes;
    std::vector<std::shared_ptr<const Descriptor>> descriptors;
  };

  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool is_finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> values;

  // What finalising made of a tensor, an operation, an operation graph, a plan, device properties.
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const Operation> operation;
  std::shared_ptr<const OperationGraph> graph;
  std::shared_ptr<const Plan> plan;
  int capability = 0;

  bool has(cudnnBackendAttributeName_t name) const { return values.count(name) != 0; }

  /// The first element of an attribute; `otherwise` where it isn't set.
  template <class T>
  T get(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const auto found = values.find(name);
    if (found != values.end()) std::memcpy(&otherwise, found->second.bytes.data(), sizeof(T));
    return otherwise;
  }
  template <class T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<T> result(static_cast<size_t>(found->second.count));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
    return result;
  }
  /// nullptr where the attribute isn't set.
  const Descriptor* descriptor(cudnnBackendAttributeName_t name) const;
  /// The tensor of a descriptor; nullptr where the attribute isn't set.
  std::shared_ptr<const Tensor> tensor_of(cudnnBackendAttributeName_t name) const;
};

Registry<Descriptor>& descriptors();
Registry<Handle>& handles();

/// cudnnBackendSetAttribute and cudnnBackendFinalize; these throw Failure.
void set_attribute(Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   int64_t count, const void* values);
void finalize(Descriptor& descriptor);

}  // namespace simdnn
