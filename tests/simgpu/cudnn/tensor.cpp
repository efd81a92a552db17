#include <tern/core/half.h>
#include <tern/tests/simgpu/cudnn/failure.h>
#include <tern/tests/simgpu/cudnn/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace simdnn {
namespace {

/// The nearest floating-point number with `bits` of precision whose smallest normal exponent is `lowest`.
double nearest(double value, int bits, int lowest, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), lowest);
  const double unit = std::ldexp(1.0, exponent - bits + 1);
  const double result = std::nearbyint(value / unit) * unit;
  return std::abs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

double load(const unsigned char* at, cudnnDataType_t dtype) {
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return as(float{});
    case CUDNN_DATA_DOUBLE:
      return as(double{});
    case CUDNN_DATA_HALF:
      return static_cast<double>(static_cast<float>(as(tern::Half{})));
    case CUDNN_DATA_BFLOAT16: {
      const uint32_t bits = static_cast<uint32_t>(as(uint16_t{})) << 16;
      float value = 0;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case CUDNN_DATA_INT8:
      return as(int8_t{});
    case CUDNN_DATA_INT32:
      return as(int32_t{});
    case CUDNN_DATA_INT64:
      return static_cast<double>(as(int64_t{}));
    case CUDNN_DATA_UINT8:
      return as(uint8_t{});
    default:
      return as(uint8_t{}) != 0 ? 1 : 0;
  }
}

void store(unsigned char* at, double value, cudnnDataType_t dtype) {
  value = rounded(value, dtype);
  const auto as = [at](auto converted) { std::memcpy(at, &converted, sizeof(converted)); };
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return as(static_cast<float>(value));
    case CUDNN_DATA_DOUBLE:
      return as(value);
    case CUDNN_DATA_HALF:
      return as(tern::Half(static_cast<float>(value)));
    case CUDNN_DATA_BFLOAT16: {
      const auto narrow = static_cast<float>(value);
      uint32_t bits = 0;
      std::memcpy(&bits, &narrow, 4);
      return as(static_cast<uint16_t>(bits >> 16));
    }
    case CUDNN_DATA_INT8:
      return as(static_cast<int8_t>(value));
    case CUDNN_DATA_INT32:
      return as(static_cast<int32_t>(value));
    case CUDNN_DATA_INT64:
      return as(static_cast<int64_t>(value));
    default:
      return as(static_cast<uint8_t>(value));
  }
}

double clamped(double value, double low, double high) {
  return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), low, high);
}

}  // namespace

int64_t Tensor::count() const {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

int64_t Tensor::span() const {
  int64_t result = 1;
  for (size_t d = 0; d < dims.size(); d++) result += (dims[d] - 1) * strides[d];
  return count() == 0 ? 0 : result;
}

size_t element_size(cudnnDataType_t dtype) {
  switch (dtype) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
      return 1;
    default:
      return 0;
  }
}

std::string dtype_name(cudnnDataType_t dtype) {
  const char* const names[] = {"float", "double",  "half",    "int8",     "int32", "int8x4",
                               "uint8", "uint8x4", "int8x32", "bfloat16", "int64", "boolean"};
  const auto index = static_cast<size_t>(dtype);
  return index < std::size(names) ? names[index] : "data type " + std::to_string(dtype);
}

bool is_floating(cudnnDataType_t dtype) {
  return dtype == CUDNN_DATA_FLOAT || dtype == CUDNN_DATA_DOUBLE || dtype == CUDNN_DATA_HALF ||
         dtype == CUDNN_DATA_BFLOAT16;
}

std::string describe(const Tensor& tensor) {
  return "tensor " + std::to_string(tensor.uid) + ", " + dtype_name(tensor.dtype) + " " + list(tensor.dims) +
         " strides " + list(tensor.strides);
}

Array::Array(Sizes d, double value) : dims(std::move(d)) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  x.assign(static_cast<size_t>(count), value);
}

int64_t Array::stride(size_t d) const {
  int64_t result = 1;
  for (size_t i = d + 1; i < dims.size(); i++) result *= dims[i];
  return result;
}

double rounded(double value, cudnnDataType_t dtype) {
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return static_cast<float>(value);
    case CUDNN_DATA_HALF:
      return nearest(value, 11, -14, 65504);
    case CUDNN_DATA_BFLOAT16:
      return nearest(value, 8, -126, 3.3895313892515355e38);
    case CUDNN_DATA_INT8:
      return clamped(value, -128, 127);
    case CUDNN_DATA_UINT8:
      return clamped(value, 0, 255);
    case CUDNN_DATA_INT32:
      return clamped(value, -2147483648.0, 2147483647.0);
    case CUDNN_DATA_INT64:
      return clamped(value, -0x1p63, 0x1.fffffffffffffp62);
    case CUDNN_DATA_BOOLEAN:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

void for_each_index(const Sizes& dims, const std::function<void(const Sizes&)>& body) {
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 0; })) return;
  Sizes index(dims.size(), 0);
  while (true) {
    body(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Array read_values(const Tensor& tensor, const void* memory) {
  Array values(tensor.dims);
  const auto* bytes = static_cast<const unsigned char*>(memory);
  size_t next = 0;
  for_each_index(tensor.dims, [&](const Sizes& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); d++) offset += index[d] * tensor.strides[d];
    values.x[next++] = load(bytes + static_cast<size_t>(offset) * element_size(tensor.dtype), tensor.dtype);
  });
  return values;
}

void write_values(const Tensor& tensor, const Array& values, void* memory) {
  auto* bytes = static_cast<unsigned char*>(memory);
  size_t next = 0;
  for_each_index(tensor.dims, [&](const Sizes& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); d++) offset += index[d] * tensor.strides[d];
    store(bytes + static_cast<size_t>(offset) * element_size(tensor.dtype), values.x[next++], tensor.dtype);
  });
}

std::vector<simgpu::Access> accesses(const Tensor& tensor, const void* pointer, bool writes) {
  // Dimensions by stride, neighbours without a gap joined: the first becomes bytes, the second pieces.
  std::vector<std::pair<int64_t, int64_t>> joined;  // stride, size
  std::vector<size_t> order;
  for (size_t d = 0; d < tensor.rank(); d++) {
    if (tensor.dims[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  for (const size_t d : order) {
    if (!joined.empty() && joined.back().first * joined.back().second == tensor.strides[d]) {
      joined.back().second *= tensor.dims[d];
    } else {
      joined.emplace_back(tensor.strides[d], tensor.dims[d]);
    }
  }
  const auto element = static_cast<int64_t>(element_size(tensor.dtype));
  int64_t run = 1;
  if (!joined.empty() && joined[0].first <= 1) {
    run = joined[0].first == 0 ? 1 : joined[0].second;
    joined.erase(joined.begin());
  }
  std::pair<int64_t, int64_t> pieces = {0, 1};
  if (!joined.empty()) {
    pieces = joined[0];
    joined.erase(joined.begin());
  }
  Sizes outer;
  for (const auto& [stride, size] : joined) outer.push_back(size);
  std::vector<simgpu::Access> result;
  if (tensor.count() == 0) return result;
  for_each_index(outer, [&](const Sizes& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); d++) offset += index[d] * joined[d].first;
    result.push_back({static_cast<const char*>(pointer) + offset * element,
                      static_cast<size_t>(run * element), writes, static_cast<size_t>(pieces.second),
                      static_cast<size_t>(pieces.first * element)});
  });
  return result;
}

int64_t broadcast_offset(const Array& array, const Sizes& index) {
  int64_t offset = 0;
  const size_t lead = index.size() - array.dims.size();
  for (size_t d = 0; d < array.dims.size(); d++) {
    offset = offset * array.dims[d] + (array.dims[d] == 1 ? 0 : index[d + lead]);
  }
  return offset;
}

}  // namespace simdnn
