// What a tensor descriptor says, and a tensor's values while an operation graph is computed: dense, in
// double, last dimension innermost, whatever lies in memory. Used from one thread at a time.

#pragma once

#include <cudnn.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <tern/tests/simgpu/library.h>

namespace simdnn {

using Sizes = std::vector<int64_t>;

struct Tensor {
  int64_t uid = 0;
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT;
  Sizes dims, strides;
  int64_t alignment = 1;
  bool is_virtual = false, by_value = false;
  bool is_special = false;  // ragged, vectorised, reordered, or of a type that isn't simulated

  bool operator==(const Tensor&) const = default;
  size_t rank() const { return dims.size(); }
  int64_t count() const;
  /// Elements from the first to the last.
  int64_t span() const;
};

/// Bytes of an element; 0 for a type that isn't simulated.
size_t element_size(cudnnDataType_t dtype);
std::string dtype_name(cudnnDataType_t dtype);
bool is_floating(cudnnDataType_t dtype);

/// "tensor 5, half [2, 3] strides [3, 1]"
std::string describe(const Tensor& tensor);

struct Array {
  Sizes dims;
  std::vector<double> x;

  explicit Array(Sizes d = {}, double value = 0);
  /// Elements between neighbours along dimension `d`.
  int64_t stride(size_t d) const;
};

/// The nearest value of the type, ties to even; integers and booleans as conversions in C++ do it.
double rounded(double value, cudnnDataType_t dtype);

/// Calls `body` with each index of the dimensions, last dimension fastest.
void for_each_index(const Sizes& dims, const std::function<void(const Sizes&)>& body);

/// The values in the tensor's memory, and back; `memory` is the host's address.
Array read_values(const Tensor& tensor, const void* memory);
void write_values(const Tensor& tensor, const Array& values, void* memory);

/// The tensor's memory as pieces for the simulated device.
std::vector<simgpu::Access> accesses(const Tensor& tensor, const void* pointer, bool writes);

/// Where `index` of something larger lies in an array that may have 1 where that has more.
int64_t broadcast_offset(const Array& array, const Sizes& index);

}  // namespace simdnn
