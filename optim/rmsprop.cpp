#include <tern/optim/rmsprop.h>

namespace tern::optim {

void RMSpropOptions::validate() const {
  check_not_negative("RMSprop", "lr", lr);
  check_not_negative("RMSprop", "alpha", alpha);
  check_not_negative("RMSprop", "eps", eps);
  check_not_negative("RMSprop", "weight_decay", weight_decay);
  check_not_negative("RMSprop", "momentum", momentum);
}

void RMSpropOptions::visit(StateVisitor& visitor) {
  visitor.number("lr", lr);
  visitor.number("alpha", alpha);
  visitor.number("eps", eps);
  visitor.number("weight_decay", weight_decay);
  visitor.number("momentum", momentum);
  visitor.flag("centered", centered);
  visitor.flag("maximize", maximize);
}

void RMSpropState::visit(StateVisitor& visitor) {
  visitor.tensor("square_avg", square);
  visitor.optional_tensor("grad_avg", mean);
  visitor.optional_tensor("momentum_buffer", momentum);
}

void RMSprop::step() {
  const auto entry = [](const Tensor& parameter, const Tensor& gradient, RMSpropState& state,
                        const RMSpropOptions& o) -> kernels::RmspropEntry {
    return {parameter, gradient, zeros_once(state.square, parameter),
            o.centered ? zeros_once(state.mean, parameter) : Tensor(),
            o.momentum != 0 ? zeros_once(state.momentum, parameter) : Tensor()};
  };
  step_groups("RMSprop", entries_, entry, [](const auto& entries, const RMSpropOptions& o) {
    kernels::rmsprop_step(entries,
                          {o.lr, o.alpha, o.eps, o.weight_decay, o.momentum, o.centered, o.maximize});
  });
}

}  // namespace tern::optim
