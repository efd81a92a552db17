// Attributes of cuBLASLt's descriptors: by number, place and size in the fields.
#pragma once

#include <tern/tests/simgpu/cublaslt/descriptors.h>

#include <cstring>
#include <span>

namespace simgpu::cublaslt {

struct Attribute {
  int number;
  size_t offset, size;
};

#define SIMGPU_ATTRIBUTE(NUMBER, FIELDS, FIELD) \
  Attribute { NUMBER, offsetof(FIELDS, FIELD), sizeof(FIELDS::FIELD) }

inline const Attribute* find(std::span<const Attribute> attributes, int number) {
  for (const Attribute& attribute : attributes) {
    if (attribute.number == number) return &attribute;
  }
  return nullptr;
}

template <class Fields>
cublasStatus_t set_attribute(void* descriptor, const char* call, std::span<const Attribute> attributes,
                             int number, const void* value, size_t size) {
  auto* all = fields<Fields>(descriptor, call);
  const Attribute* attribute = find(attributes, number);
  if (!all || !attribute || !value || size != attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(reinterpret_cast<char*>(all) + attribute->offset, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Fields>
cublasStatus_t get_attribute(void* descriptor, const char* call, std::span<const Attribute> attributes,
                             int number, void* value, size_t size, size_t* written) {
  const auto* all = fields<Fields>(descriptor, call);
  const Attribute* attribute = find(attributes, number);
  if (!all || !attribute) return CUBLAS_STATUS_INVALID_VALUE;
  if (size == 0 ? !written : !value || size != attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  if (written) *written = attribute->size;
  if (size > 0) std::memcpy(value, reinterpret_cast<const char*>(all) + attribute->offset, size);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace simgpu::cublaslt
