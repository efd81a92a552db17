#include <tern/tests/simgpu/cudnn/operations/norm.h>

#include <cmath>

namespace simdnn {
namespace {

using TensorPointer = std::shared_ptr<const Tensor>;

struct Forward {
  cudnnBackendNormMode_t mode;
  bool training;
  Sizes statistics;
  TensorPointer x, y, scale, bias, mean, inverse, epsilon, factor, old_mean, old_variance, new_mean,
      new_variance;
};

struct Moments {
  Array mean, variance;
};

Moments moments(const Forward& norm, const Array& x) {
  Moments result = {Array(norm.statistics), Array(norm.statistics)};
  if (norm.mode != CUDNN_RMS_NORM) result.mean = mean_of(x, norm.statistics);
  Array squares = x;
  for_each_element(x.dims, norm.statistics, norm.scale->dims, [&](size_t i, size_t s, size_t) {
    squares.x[i] = (x.x[i] - result.mean.x[s]) * (x.x[i] - result.mean.x[s]);
  });
  result.variance = mean_of(squares, norm.statistics);
  return result;
}

/// The next running statistics: the variance among them is that of a sample.
void update_running(const Forward& norm, const Moments& now, double count, Values& values) {
  if (norm.new_mean == nullptr) return;
  const double factor = values.at(*norm.factor).x[0];
  Array mean = values.at(*norm.old_mean), variance = values.at(*norm.old_variance);
  for (size_t i = 0; i < mean.x.size(); i++) {
    mean.x[i] = (1 - factor) * mean.x[i] + factor * now.mean.x[i];
    variance.x[i] =
        (1 - factor) * variance.x[i] + factor * now.variance.x[i] * count / std::max(count - 1, 1.0);
  }
  values.set(*norm.new_mean, std::move(mean));
  values.set(*norm.new_variance, std::move(variance));
}

void run(const Forward& norm, Values& values) {
  const Array& x = values.at(*norm.x);
  Array mean(norm.statistics), inverse(norm.statistics);
  if (norm.mode == CUDNN_BATCH_NORM && !norm.training) {
    mean = values.at(*norm.mean);
    inverse = values.at(*norm.inverse);
  } else {
    Moments now = moments(norm, x);
    const double epsilon = values.at(*norm.epsilon).x[0];
    for (size_t i = 0; i < inverse.x.size(); i++) inverse.x[i] = 1 / std::sqrt(now.variance.x[i] + epsilon);
    update_running(norm, now, static_cast<double>(x.x.size()) / static_cast<double>(inverse.x.size()),
                   values);
    mean = std::move(now.mean);
  }
  Array y(x.dims);
  const Array& scale = values.at(*norm.scale);
  for_each_element(x.dims, norm.statistics, scale.dims, [&](size_t i, size_t s, size_t w) {
    const double bias = norm.bias == nullptr ? 0 : values.at(*norm.bias).x[w];
    y.x[i] = (x.x[i] - mean.x[s]) * inverse.x[s] * scale.x[w] + bias;
  });
  values.set(*norm.y, std::move(y));
  if (norm.training && norm.mean != nullptr) values.set(*norm.mean, std::move(mean));
  if (norm.training && norm.inverse != nullptr) values.set(*norm.inverse, std::move(inverse));
}

void check_running(const Operation& operation, const Forward& norm) {
  const TensorPointer all[] = {norm.factor, norm.old_mean, norm.old_variance, norm.new_mean,
                               norm.new_variance};
  int count = 0;
  for (const TensorPointer& tensor : all) count += tensor == nullptr ? 0 : 1;
  demand(count == 0 || count == 5,
         "running statistics need all of: the factor, old and new mean, old and new variance");
  for (const TensorPointer& tensor : {norm.old_mean, norm.old_variance, norm.new_mean, norm.new_variance}) {
    check_sizes(tensor, norm.statistics);
  }
  if (norm.mode == CUDNN_BATCH_NORM && !norm.training) {
    operation.need(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC);
    operation.need(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
  } else {
    operation.need(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC);
  }
  if (norm.mode != CUDNN_RMS_NORM) operation.need(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
}

}  // namespace

void make_norm_forward(const Descriptor& descriptor, Operation& operation) {
  const auto at = [&](cudnnBackendAttributeName_t role) { return operation.at(role); };
  const auto phase = descriptor.get<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
  Forward norm = {descriptor.get<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE),
                  phase == CUDNN_NORM_FWD_TRAINING,
                  {},
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
                  at(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC)};
  norm.statistics = statistics_sizes(norm.mode, *norm.x, *norm.scale, operation.missing);
  if (at(CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS) != nullptr) {
    operation.missing = "norms over several devices are not simulated";
  }
  check_sizes(norm.y, norm.x->dims);
  check_sizes(norm.bias, norm.scale->dims);
  if (operation.missing.empty()) {
    check_sizes(norm.mean, norm.statistics);
    check_sizes(norm.inverse, norm.statistics);
    check_running(operation, norm);
  }
  operation.mode = norm.mode;
  operation.phase = phase;
  operation.run = [norm](Values& values) { run(norm, values); };
}

}  // namespace simdnn
