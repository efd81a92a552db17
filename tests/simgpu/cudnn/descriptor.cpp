#include <tern/tests/simgpu/cudnn/descriptor.h>
#include <tern/tests/simgpu/cudnn/finalize.h>

namespace simdnn {
namespace {

std::string count_text(const Attribute& attribute) {
  if (attribute.least == attribute.most) return std::to_string(attribute.least);
  return std::to_string(attribute.least) + " to " + std::to_string(attribute.most);
}

bool is_type(const Attribute& attribute, cudnnBackendAttributeType_t type) {
  return attribute.type == type || (attribute.type == CUDNN_TYPE_FRACTION && type == CUDNN_TYPE_INT64);
}

/// The descriptors that an attribute is given, each finalised and of the attribute's kind.
std::vector<std::shared_ptr<const Descriptor>> referred(const Attribute& attribute, int64_t count,
                                                        const void* values) {
  std::vector<std::shared_ptr<const Descriptor>> result;
  for (int64_t i = 0; i < count; i++) {
    const auto other = descriptors().get(static_cast<void* const*>(values)[i]);
    const bool fits =
        is_operation(attribute.refers) ? is_operation(other->type) : other->type == attribute.refers;
    demand(fits, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
           std::string(attribute.text) + " cannot be a " + descriptor_name(other->type));
    demand(other->is_finalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
           std::string(attribute.text) + " is set to a descriptor that is not finalised");
    result.push_back(other);
  }
  return result;
}

}  // namespace

Registry<Descriptor>& descriptors() {
  static auto& registry = *new Registry<Descriptor>("descriptor", 0x5d0000000000);
  return registry;
}

Registry<Handle>& handles() {
  static auto& registry = *new Registry<Handle>("handle", 0x5e0000000000);
  return registry;
}

const Descriptor* Descriptor::descriptor(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : found->second.descriptors.front().get();
}

std::shared_ptr<const Tensor> Descriptor::tensor_of(cudnnBackendAttributeName_t name) const {
  const Descriptor* found = descriptor(name);
  return found == nullptr ? nullptr : found->tensor;
}

void set_attribute(Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   int64_t count, const void* values) {
  const std::string owner = descriptor_name(descriptor.type);
  const Attribute* attribute = find_attribute(descriptor.type, name);
  demand(attribute != nullptr, owner + " has no attribute " + std::to_string(name));
  const std::string text = attribute->text;
  demand(!descriptor.is_finalized, text + " is set after the descriptor was finalised");
  demand(attribute->need != Need::answered, text + " can only be asked for");
  demand(is_type(*attribute, type), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
         text + " has another type than " + std::to_string(type));
  demand(count >= attribute->least && count <= attribute->most,
         text + " has " + count_text(*attribute) + " elements, not " + std::to_string(count));
  demand(values != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the elements of " + text + " are null");
  Descriptor::Value value = {attribute, type, count, {}, {}};
  const auto* bytes = static_cast<const unsigned char*>(values);
  value.bytes.assign(bytes, bytes + static_cast<size_t>(count) * attribute_size(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) value.descriptors = referred(*attribute, count, values);
  if (type == CUDNN_TYPE_HANDLE) handles().get(*static_cast<void* const*>(values));
  descriptor.values[name] = std::move(value);
}

void finalize(Descriptor& descriptor) {
  demand(!descriptor.is_finalized, "a " + descriptor_name(descriptor.type) + " is finalised twice");
  for (const Attribute* attribute : attributes_of(descriptor.type)) {
    demand(attribute->need != Need::required || descriptor.has(attribute->name),
           std::string(attribute->text) + " is not set");
  }
  finalize_meaning(descriptor);
  descriptor.is_finalized = true;
}

}  // namespace simdnn
