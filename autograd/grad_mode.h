// Whether operations are recorded, per thread.
//
//   {
//     NoGradGuard no_grad;
//     validate(model);   // nothing is recorded, nothing is kept
//   }
#pragma once

namespace tern {

/// True (the start on every thread) when operations on tensors that require a gradient are recorded.
bool is_grad_enabled();

/// Sets the mode of the calling thread until it goes out of scope; then the former one is back.
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool before_;
};

/// Nothing is recorded while it lives.
struct NoGradGuard : GradModeGuard {
  NoGradGuard() : GradModeGuard(false) {}
};

/// Inside a NoGradGuard: records again while it lives.
struct EnableGradGuard : GradModeGuard {
  EnableGradGuard() : GradModeGuard(true) {}
};

}  // namespace tern
