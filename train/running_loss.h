// The mean of the losses of an epoch's steps, and a look at each.
#pragma once

#include <cstdint>

namespace tern::train {

class RunningLoss {
 public:
  /// `epoch` is what errors name: 1 for the first.
  explicit RunningLoss(int64_t epoch) : epoch_(epoch) {}
  /// The mean loss of one step over `samples` samples. Throws Error, naming epoch and step, for NaN and
  /// infinities: training on would spoil all weights. Call it before the optimizer's step.
  void add(double loss, int64_t samples);
  /// The mean over all samples so far; NaN before the first.
  double mean() const { return sum_ / static_cast<double>(samples_); }

 private:
  int64_t epoch_, steps_ = 0, samples_ = 0;
  double sum_ = 0;
};

}  // namespace tern::train
