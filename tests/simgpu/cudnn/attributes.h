// Which attributes a backend descriptor has: one table for setting, getting and finalising. Immutable.

#pragma once

#include <cudnn.h>

#include <string>
#include <vector>

namespace simdnn {

enum class Need {
  required,  // to be set before the descriptor is finalised
  optional,
  answered,  // only to be got
};

struct Attribute {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  const char* text;
  cudnnBackendAttributeType_t type;
  int64_t least, most;  // elements
  Need need;
  /// For CUDNN_TYPE_BACKEND_DESCRIPTOR; operations of any kind for an operation graph's operations.
  cudnnBackendDescriptorType_t refers = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
};

/// All attributes of descriptors that describe tensors, engines, plans and how an operation is done.
const std::vector<Attribute>& descriptor_attributes();
/// All attributes of operations.
const std::vector<Attribute>& operation_attributes();

/// The attributes of a type of descriptor; empty for a type that isn't simulated.
std::vector<const Attribute*> attributes_of(cudnnBackendDescriptorType_t owner);
/// nullptr where the descriptor has none of this name.
const Attribute* find_attribute(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name);

/// Bytes of an element of an attribute.
size_t attribute_size(cudnnBackendAttributeType_t type);
/// CUDNN_BACKEND_…_DESCRIPTOR of a type.
std::string descriptor_name(cudnnBackendDescriptorType_t type);
/// Whether this is an operation, to be put into an operation graph.
bool is_operation(cudnnBackendDescriptorType_t type);

}  // namespace simdnn
