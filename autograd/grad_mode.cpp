#include <tern/autograd/grad_mode.h>

namespace tern {
namespace {
thread_local bool enabled_here = true;
}

bool is_grad_enabled() { return enabled_here; }

GradModeGuard::GradModeGuard(bool enabled) : before_(enabled_here) { enabled_here = enabled; }

GradModeGuard::~GradModeGuard() { enabled_here = before_; }

}  // namespace tern
