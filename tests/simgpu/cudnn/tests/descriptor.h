// A cuDNN backend descriptor for tests: created, set, finalised and destroyed through the C API, where every
// status that is not success is thrown. Used from one thread.

#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace drive {

/// A status of cuDNN that was not success, and the library's words for it.
struct CudnnError : std::runtime_error {
  CudnnError(const std::string& call, cudnnStatus_t s);
  cudnnStatus_t status;
};

/// Throws CudnnError naming `call` unless the status is success.
void check(cudnnStatus_t status, const std::string& call);

/// What the library keeps as the last error's text.
std::string last_error();

constexpr auto type_of(int64_t) { return CUDNN_TYPE_INT64; }
constexpr auto type_of(int32_t) { return CUDNN_TYPE_INT32; }
constexpr auto type_of(double) { return CUDNN_TYPE_DOUBLE; }
constexpr auto type_of(float) { return CUDNN_TYPE_FLOAT; }
constexpr auto type_of(bool) { return CUDNN_TYPE_BOOLEAN; }
constexpr auto type_of(char) { return CUDNN_TYPE_CHAR; }
constexpr auto type_of(void*) { return CUDNN_TYPE_VOID_PTR; }
constexpr auto type_of(cudnnHandle_t) { return CUDNN_TYPE_HANDLE; }
constexpr auto type_of(cudnnDataType_t) { return CUDNN_TYPE_DATA_TYPE; }
constexpr auto type_of(cudnnFraction_t) { return CUDNN_TYPE_FRACTION; }
constexpr auto type_of(cudnnConvolutionMode_t) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr auto type_of(cudnnPointwiseMode_t) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr auto type_of(cudnnReduceTensorOp_t) { return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE; }
constexpr auto type_of(cudnnResampleMode_t) { return CUDNN_TYPE_RESAMPLE_MODE; }
constexpr auto type_of(cudnnPaddingMode_t) { return CUDNN_TYPE_PADDING_MODE; }
constexpr auto type_of(cudnnBackendNormMode_t) { return CUDNN_TYPE_NORM_MODE; }
constexpr auto type_of(cudnnBackendNormFwdPhase_t) { return CUDNN_TYPE_NORM_FWD_PHASE; }
constexpr auto type_of(cudnnBackendHeurMode_t) { return CUDNN_TYPE_HEUR_MODE; }
constexpr auto type_of(cudnnGenStatsMode_t) { return CUDNN_TYPE_GENSTATS_MODE; }
constexpr auto type_of(cudnnBnFinalizeStatsMode_t) { return CUDNN_TYPE_BN_FINALIZE_STATS_MODE; }
constexpr auto type_of(cudnnRngDistribution_t) { return CUDNN_TYPE_RNG_DISTRIBUTION; }
constexpr auto type_of(cudnnBackendKnobType_t) { return CUDNN_TYPE_KNOB_TYPE; }
constexpr auto type_of(cudnnBackendBehaviorNote_t) { return CUDNN_TYPE_BEHAVIOR_NOTE; }
constexpr auto type_of(cudnnBackendNumericalNote_t) { return CUDNN_TYPE_NUMERICAL_NOTE; }

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return raw_.get(); }

  Descriptor& set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                      const void* values);

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, T value) {
    return set_raw(name, type_of(value), 1, &value);
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    return set_raw(name, type_of(T{}), static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& others);

  /// Up to `most` values of the attribute.
  template <class T>
  std::vector<T> get(cudnnBackendAttributeName_t name, int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    int64_t count = 0;
    check(cudnnBackendGetAttribute(raw_.get(), name, type_of(T{}), most, &count, values.data()), "get");
    values.resize(static_cast<size_t>(std::min(count, most)));
    return values;
  }

  Descriptor& finalize();
  /// Destroys the descriptor now; get() answers the dangling pointer still.
  void destroy();

 private:
  std::shared_ptr<void> raw_;
  std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
};

}  // namespace drive
