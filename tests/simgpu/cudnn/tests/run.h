// Runs a graph of tests on the simulated device: memory for its tensors, a plan, a variant pack. Used from
// one thread.

#pragma once

#include <tern/tests/simgpu/cudnn/tests/graph.h>

namespace drive {

using Numbers = std::vector<double>;

/// A handle of the current device, destroyed at the end.
class Handle {
 public:
  Handle() { check(cudnnCreate(&handle_), "cudnnCreate"); }
  ~Handle() { cudnnDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// What a type can hold of a number: its bytes, and the number again.
void encode(double number, cudnnDataType_t dtype, unsigned char* bytes);
double decode(const unsigned char* bytes, cudnnDataType_t dtype);
size_t size_of(cudnnDataType_t dtype);
/// The difference between 1 and the next number of a type.
double precision(cudnnDataType_t dtype);

class Run {
 public:
  ~Run();
  /// Memory with these numbers, in the order of the tensor's indices; they are rounded to its type.
  Run& input(const Tensor& tensor, const Numbers& numbers);
  /// A tensor given by value.
  Run& value(int64_t uid, float number);
  /// Memory without any numbers.
  Run& output(const Tensor& tensor);

  /// Plans with the first engine configuration that the heuristics answer, and executes.
  Run& execute(const Graph& graph);
  /// The numbers in a tensor's memory.
  Numbers get(const Tensor& tensor) const;

  int64_t workspace_bytes() const { return workspace_bytes_; }
  void* pointer(int64_t uid) const { return memory_.at(uid); }

 private:
  Handle handle_;
  std::map<int64_t, void*> memory_;
  std::map<int64_t, float> values_;
  int64_t workspace_bytes_ = 0;
};

/// The number as the tensor's memory holds it.
Numbers as_stored(const Tensor& tensor, Numbers numbers);

/// Numbers between -2 and 2, different for every seed.
Numbers random_numbers(int64_t count, unsigned seed);
/// The same for all elements of a tensor, rounded to its type.
Numbers random_numbers(const Tensor& tensor);

int64_t count(const Sizes& dims);

/// "" where all numbers are the expected ones to half a unit of the type's last place; else the first that
/// isn't.
std::string difference(const Numbers& numbers, const Numbers& expected, cudnnDataType_t dtype);

/// A variant pack, finalised.
Descriptor make_pack(const std::map<int64_t, void*>& pointers, void* workspace);

}  // namespace drive
