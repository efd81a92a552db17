#include <tern/core/half.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

#include <cmath>
#include <cstring>
#include <random>

namespace drive {
namespace {

/// Calls body(place in memory) for each element in the order of the indices.
template <class Body>
void for_each_place(const Tensor& tensor, const Body& body) {
  const int64_t elements = count(tensor.dims);
  for (int64_t i = 0; i < elements; i++) {
    int64_t rest = i, place = 0;
    for (size_t d = tensor.dims.size(); d-- > 0;) {
      place += rest % tensor.dims[d] * tensor.options.strides[d];
      rest /= tensor.dims[d];
    }
    body(static_cast<size_t>(place));
  }
}

size_t bytes_of(const Tensor& tensor) {
  size_t last = 0;
  for_each_place(tensor, [&](size_t place) { last = std::max(last, place); });
  return (last + 1) * size_of(tensor.options.dtype);
}

void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error("CUDA error " + std::to_string(error));
}

}  // namespace

void encode(double number, cudnnDataType_t dtype, unsigned char* bytes) {
  const auto put = [bytes](auto value) { std::memcpy(bytes, &value, sizeof(value)); };
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return put(static_cast<float>(number));
    case CUDNN_DATA_DOUBLE:
      return put(number);
    case CUDNN_DATA_HALF:
      return put(tern::Half(static_cast<float>(number)));
    case CUDNN_DATA_BFLOAT16: {
      // Cut after a float; the tests' numbers are short enough for it to be exact or near.
      const auto narrow = static_cast<float>(number);
      uint32_t bits = 0;
      std::memcpy(&bits, &narrow, 4);
      return put(static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    }
    case CUDNN_DATA_INT32:
      return put(static_cast<int32_t>(number));
    case CUDNN_DATA_INT64:
      return put(static_cast<int64_t>(number));
    default:
      return put(static_cast<int8_t>(number));
  }
}

double decode(const unsigned char* bytes, cudnnDataType_t dtype) {
  const auto take = [bytes](auto value) {
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  };
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return take(float{});
    case CUDNN_DATA_DOUBLE:
      return take(double{});
    case CUDNN_DATA_HALF:
      return static_cast<double>(static_cast<float>(take(tern::Half{})));
    case CUDNN_DATA_BFLOAT16: {
      const uint32_t bits = static_cast<uint32_t>(take(uint16_t{})) << 16;
      float value = 0;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case CUDNN_DATA_INT32:
      return take(int32_t{});
    case CUDNN_DATA_INT64:
      return static_cast<double>(take(int64_t{}));
    default:
      return take(int8_t{});
  }
}

size_t size_of(cudnnDataType_t dtype) {
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
    default:
      return 1;
  }
}

double precision(cudnnDataType_t dtype) {
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return 0x1p-23;
    case CUDNN_DATA_DOUBLE:
      return 0x1p-48;  // sums may be added up in another order
    case CUDNN_DATA_HALF:
      return 0x1p-10;
    case CUDNN_DATA_BFLOAT16:
      return 0x1p-7;
    default:
      return 0;
  }
}

Run::~Run() {
  for (const auto& [uid, pointer] : memory_) cudaFree(pointer);
}

Run& Run::input(const Tensor& tensor, const Numbers& numbers) {
  output(tensor);
  std::vector<unsigned char> bytes(bytes_of(tensor));
  size_t next = 0;
  for_each_place(tensor, [&](size_t place) {
    encode(numbers.at(next++), tensor.options.dtype, bytes.data() + place * size_of(tensor.options.dtype));
  });
  check_cuda(cudaMemcpy(memory_[tensor.uid], bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  return *this;
}

Run& Run::value(int64_t uid, float number) {
  values_[uid] = number;
  return *this;
}

Run& Run::output(const Tensor& tensor) {
  if (memory_[tensor.uid] == nullptr) check_cuda(cudaMalloc(&memory_[tensor.uid], bytes_of(tensor)));
  return *this;
}

Run& Run::execute(const Graph& graph) {
  const Descriptor finished = graph.finalize(handle_.get());
  const std::vector<Descriptor> configurations = engine_configurations(finished, CUDNN_HEUR_MODE_INSTANT);
  if (configurations.empty()) throw std::runtime_error(last_error());
  const Descriptor plan = make_plan(handle_.get(), configurations.front());
  workspace_bytes_ = plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0);
  void* workspace = nullptr;
  if (workspace_bytes_ > 0) check_cuda(cudaMalloc(&workspace, static_cast<size_t>(workspace_bytes_)));
  std::map<int64_t, void*> pointers = memory_;
  for (auto& [uid, number] : values_) pointers[uid] = &number;
  const Descriptor pack = make_pack(pointers, workspace);
  check(cudnnBackendExecute(handle_.get(), plan.get(), pack.get()), "execute");
  check_cuda(cudaDeviceSynchronize());
  cudaFree(workspace);
  return *this;
}

Numbers Run::get(const Tensor& tensor) const {
  std::vector<unsigned char> bytes(bytes_of(tensor));
  check_cuda(cudaMemcpy(bytes.data(), memory_.at(tensor.uid), bytes.size(), cudaMemcpyDeviceToHost));
  Numbers numbers;
  for_each_place(tensor, [&](size_t place) {
    numbers.push_back(decode(bytes.data() + place * size_of(tensor.options.dtype), tensor.options.dtype));
  });
  return numbers;
}

Numbers as_stored(const Tensor& tensor, Numbers numbers) {
  for (double& number : numbers) {
    unsigned char bytes[8];
    encode(number, tensor.options.dtype, bytes);
    number = decode(bytes, tensor.options.dtype);
  }
  return numbers;
}

Numbers random_numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers(static_cast<size_t>(count));
  for (double& number : numbers) number = static_cast<double>(random() % 4001) / 1000 - 2;
  return numbers;
}

Numbers random_numbers(const Tensor& tensor) {
  return as_stored(tensor, random_numbers(count(tensor.dims), static_cast<unsigned>(tensor.uid)));
}

int64_t count(const Sizes& dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

std::string difference(const Numbers& numbers, const Numbers& expected, cudnnDataType_t dtype) {
  if (numbers.size() != expected.size()) return "other sizes";
  for (size_t i = 0; i < numbers.size(); i++) {
    const double smallest = dtype == CUDNN_DATA_HALF ? 0x1p-24 : 0;
    const double allowed = 0.51 * std::max(precision(dtype) * std::abs(expected[i]), smallest) + 1e-13;
    if (std::abs(numbers[i] - expected[i]) <= allowed ||
        (std::isnan(numbers[i]) && std::isnan(expected[i])) || numbers[i] == expected[i]) {
      continue;
    }
    return "element " + std::to_string(i) + ": " + std::to_string(numbers[i]) + ", not " +
           std::to_string(expected[i]);
  }
  return "";
}

Descriptor make_pack(const std::map<int64_t, void*>& pointers, void* workspace) {
  Sizes uids;
  std::vector<void*> addresses;
  for (const auto& [uid, pointer] : pointers) {
    uids.push_back(uid);
    addresses.push_back(pointer);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids).set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses);
  return pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace).finalize();
}

}  // namespace drive
