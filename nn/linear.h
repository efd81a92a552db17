// The fully connected layer.
#pragma once

#include <tern/nn/module.h>

namespace tern::nn {

struct LinearOptions {
  bool bias = true;
};

/// y = x W^T + b for x [..., in_features]; weight [out_features, in_features] and bias [out_features] start
/// from U(-1 / sqrt(in_features), 1 / sqrt(in_features)).
class Linear : public Layer<Linear> {
 public:
  /// Throws Error for negative numbers of features.
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {});
  Tensor forward(const Tensor& x);
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight, bias;
};

}  // namespace tern::nn
