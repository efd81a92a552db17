// Operation graphs for tests: tensors by number, operations by a line, and the plans that the heuristics
// answer.

#pragma once

#include <tern/tests/simgpu/cudnn/tests/descriptor.h>

#include <map>
#include <optional>

namespace drive {

using Sizes = std::vector<int64_t>;

/// Strides of a dense tensor whose last dimension is innermost (NCHW).
Sizes rows(const Sizes& dims);
/// Strides of a dense tensor whose second dimension is innermost (NHWC).
Sizes channels_last(const Sizes& dims);

struct TensorOptions {
  Sizes strides = {};  // dense, last dimension innermost, when empty
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT;
  bool is_virtual = false;
  bool by_value = false;
  int64_t alignment = 16;
};

/// A tensor of a graph: what was said of it, and its finalised descriptor.
struct Tensor {
  int64_t uid;
  Sizes dims;
  TensorOptions options;
  Descriptor descriptor;

  Tensor(int64_t u, Sizes d, TensorOptions o);
};

enum class Convolution { forward, backward_data, backward_filter };

struct ConvolutionOptions {
  Sizes pre = {}, post = {}, stride = {}, dilation = {};  // zeros and ones when empty
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  double alpha = 1, beta = 0;
};

struct PointwiseTensors {
  const Tensor *x = nullptr, *b = nullptr, *t = nullptr, *y = nullptr, *dy = nullptr, *dx = nullptr;
};

struct PointwiseOptions {
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  std::map<cudnnBackendAttributeName_t, double> numbers = {};  // clips, slopes, alphas and betas
  std::optional<int64_t> axis = {};
  std::optional<float> alpha1 = {}, alpha2 = {};
};

struct ResampleOptions {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  cudnnPaddingMode_t padding = CUDNN_NEG_INF_PAD;
  Sizes window = {}, stride = {}, pre = {}, post = {};
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
};

using Tensors = std::map<cudnnBackendAttributeName_t, const Tensor*>;

class Graph {
 public:
  void convolution(Convolution kind, const Tensor& x, const Tensor& w, const Tensor& y,
                   const ConvolutionOptions& options = {});
  void pointwise(cudnnPointwiseMode_t mode, const PointwiseTensors& tensors,
                 const PointwiseOptions& options = {});
  void reduction(cudnnReduceTensorOp_t mode, const Tensor& x, const Tensor& y,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  void matmul(const Tensor& a, const Tensor& b, const Tensor& c, cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  void resample_forward(const Tensor& x, const Tensor& y, const Tensor* index,
                        const ResampleOptions& options);
  void resample_backward(const Tensors& tensors, const ResampleOptions& options);
  void norm_forward(cudnnBackendNormMode_t mode, cudnnBackendNormFwdPhase_t phase, const Tensors& tensors);
  void norm_backward(cudnnBackendNormMode_t mode, const Tensors& tensors);
  void reshape(const Tensor& x, const Tensor& y);
  void concatenate(int64_t axis, const std::vector<const Tensor*>& inputs, const Tensor& y);
  /// An operation that is nothing but tensors.
  void operation(cudnnBackendDescriptorType_t type, const Tensors& tensors);
  void add(Descriptor operation) { operations_.push_back(std::move(operation)); }

  /// The finalised graph.
  Descriptor finalize(cudnnHandle_t handle) const;

 private:
  std::vector<Descriptor> operations_;
};

/// Finalised engine configurations that the heuristics answer for a finalised graph; none where they find
/// none. `device`: properties of another device than the current one.
std::vector<Descriptor> engine_configurations(const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                              const Descriptor* device = nullptr);

/// The finalised plan of a configuration.
Descriptor make_plan(cudnnHandle_t handle, const Descriptor& configuration);

}  // namespace drive
