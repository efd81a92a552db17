#include <tern/train/running_loss.h>

#include <tern/core/error.h>

#include <cmath>

namespace tern::train {

void RunningLoss::add(double loss, int64_t samples) {
  ++steps_;
  check(std::isfinite(loss), "training: the loss is ", loss, " in epoch ", epoch_, ", step ", steps_,
        "; a smaller learning rate may help");
  sum_ += loss * static_cast<double>(samples);
  samples_ += samples;
}

}  // namespace tern::train
