#include <tern/optim/lion.h>

namespace tern::optim {

void LionOptions::validate() const {
  check_not_negative("Lion", "lr", lr);
  check_betas("Lion", beta1, beta2);
  check_not_negative("Lion", "weight_decay", weight_decay);
}

void LionOptions::visit(StateVisitor& visitor) {
  visitor.number("lr", lr);
  visitor.number("beta1", beta1);
  visitor.number("beta2", beta2);
  visitor.number("weight_decay", weight_decay);
  visitor.flag("maximize", maximize);
}

void Lion::step() {
  const auto entry = [](const Tensor& parameter, const Tensor& gradient, LionState& state,
                        const LionOptions&) -> kernels::LionEntry {
    return {parameter, gradient, zeros_once(state.mean, parameter)};
  };
  step_groups("Lion", entries_, entry, [](const auto& entries, const LionOptions& o) {
    kernels::lion_step(entries, {o.lr, o.beta1, o.beta2, o.weight_decay, o.maximize});
  });
}

}  // namespace tern::optim
