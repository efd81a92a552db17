// Losses as layers of two inputs, x and target: the functions of autograd/losses.h with their options.
#pragma once

#include <tern/autograd/losses.h>
#include <tern/nn/module.h>

namespace tern::nn {

/// mse_loss().
class MSELoss : public Layer<MSELoss> {
 public:
  explicit MSELoss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return mse_loss(x, target, reduction_); }

 private:
  Reduction reduction_;
};

/// l1_loss().
class L1Loss : public Layer<L1Loss> {
 public:
  explicit L1Loss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return l1_loss(x, target, reduction_); }

 private:
  Reduction reduction_;
};

/// smooth_l1_loss().
class SmoothL1Loss : public Layer<SmoothL1Loss> {
 public:
  explicit SmoothL1Loss(const SmoothL1LossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return smooth_l1_loss(x, target, options_); }

 private:
  SmoothL1LossOptions options_;
};

/// huber_loss().
class HuberLoss : public Layer<HuberLoss> {
 public:
  explicit HuberLoss(const HuberLossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return huber_loss(x, target, options_); }

 private:
  HuberLossOptions options_;
};

/// binary_cross_entropy(): x holds probabilities.
class BCELoss : public Layer<BCELoss> {
 public:
  explicit BCELoss(const BCELossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return binary_cross_entropy(x, target, options_); }
  void members(Visitor& visitor) override { visitor.buffer("weight", options_.weight); }

 private:
  BCELossOptions options_;
};

/// binary_cross_entropy_with_logits().
class BCEWithLogitsLoss : public Layer<BCEWithLogitsLoss> {
 public:
  explicit BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) {
    return binary_cross_entropy_with_logits(x, target, options_);
  }
  void members(Visitor& visitor) override {
    visitor.buffer("weight", options_.weight);
    visitor.buffer("pos_weight", options_.pos_weight);
  }

 private:
  BCEWithLogitsLossOptions options_;
};

/// kl_div(): x holds log-probabilities.
class KLDivLoss : public Layer<KLDivLoss> {
 public:
  explicit KLDivLoss(const KLDivLossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return kl_div(x, target, options_); }

 private:
  KLDivLossOptions options_;
};

/// nll_loss(): x holds log-probabilities, the target class indices.
class NLLLoss : public Layer<NLLLoss> {
 public:
  explicit NLLLoss(const NLLLossOptions& options = {}) : options_(options) {}
  Tensor forward(const Tensor& x, const Tensor& target) { return nll_loss(x, target, options_); }
  void members(Visitor& visitor) override { visitor.buffer("weight", options_.weight); }

 private:
  NLLLossOptions options_;
};

/// cross_entropy(): x holds logits, the target class indices or probabilities.
class CrossEntropyLoss : public Layer<CrossEntropyLoss> {
 public:
  /// Throws Error unless 0 <= label_smoothing <= 1.
  explicit CrossEntropyLoss(const CrossEntropyOptions& options = {}) : options_(options) {
    check(options.label_smoothing >= 0 && options.label_smoothing <= 1,
          "CrossEntropyLoss: label_smoothing must be from 0 to 1, got ", options.label_smoothing);
  }
  Tensor forward(const Tensor& logits, const Tensor& target) {
    return cross_entropy(logits, target, options_);
  }
  void members(Visitor& visitor) override { visitor.buffer("weight", options_.weight); }

 private:
  CrossEntropyOptions options_;
};

}  // namespace tern::nn
