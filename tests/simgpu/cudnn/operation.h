// An operation of a graph: its tensors by the names of their attributes, and how the host computes it. Made
// when the descriptor is finalised, where shapes are checked; immutable from then on.

#pragma once

#include <tern/tests/simgpu/cudnn/descriptor.h>

#include <tuple>

namespace simdnn {

/// The values of a graph's tensors while it is computed. One number may stand for several views of a memory.
class Values {
 public:
  const Array& at(const Tensor& tensor) const;
  /// Rounds to the tensor's type, which is that of a virtual tensor as well.
  void set(const Tensor& tensor, Array array);

 private:
  using Key = std::tuple<int64_t, Sizes, Sizes>;
  static Key key_of(const Tensor& tensor) { return {tensor.uid, tensor.dims, tensor.strides}; }
  std::map<Key, Array> arrays_;
};

struct Port {
  cudnnBackendAttributeName_t role;
  std::shared_ptr<const Tensor> tensor;
  bool is_output;
};

struct Operation {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  int mode = 0;   // of pointwise operations, reductions, resampling, norms, convolutions
  int phase = 0;  // of a norm's forward pass
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  std::vector<Port> ports;
  bool adds_to_output = false;
  /// Why no engine of the simulated library does it, though cuDNN knows it; empty where one may.
  std::string missing;
  std::function<void(Values&)> run;

  /// nullptr where the operation has no such tensor.
  std::shared_ptr<const Tensor> at(cudnnBackendAttributeName_t role) const;
  /// The same for one that must be there.
  const Tensor& need(cudnnBackendAttributeName_t role) const;
};

/// Checks an operation's descriptor whose attributes are all set.
std::shared_ptr<const Operation> make_operation(const Descriptor& descriptor);

// The families: each checks shapes, and sets mode, computing type and `run`.
void make_convolution(const Descriptor& descriptor, Operation& operation);
void make_pointwise(const Descriptor& descriptor, Operation& operation);
void make_reduction(const Descriptor& descriptor, Operation& operation);
void make_matmul(const Descriptor& descriptor, Operation& operation);
void make_resample_forward(const Descriptor& descriptor, Operation& operation);
void make_resample_backward(const Descriptor& descriptor, Operation& operation);
void make_norm_forward(const Descriptor& descriptor, Operation& operation);
void make_norm_backward(const Descriptor& descriptor, Operation& operation);
void make_reshape(const Descriptor& descriptor, Operation& operation);
void make_concatenation(const Descriptor& descriptor, Operation& operation);
void make_attention(const Descriptor& descriptor, Operation& operation);

}  // namespace simdnn
