#include <tern/optim/sgd.h>

namespace tern::optim {

void SGDOptions::validate() const {
  check_not_negative("SGD", "lr", lr);
  check_not_negative("SGD", "momentum", momentum);
  check_not_negative("SGD", "weight_decay", weight_decay);
  check(!nesterov || (momentum > 0 && dampening == 0), "SGD: nesterov needs momentum and no dampening");
}

void SGDOptions::visit(StateVisitor& visitor) {
  visitor.number("lr", lr);
  visitor.number("momentum", momentum);
  visitor.number("dampening", dampening);
  visitor.number("weight_decay", weight_decay);
  visitor.flag("nesterov", nesterov);
  visitor.flag("maximize", maximize);
}

void SGD::step() {
  const auto entry = [](const Tensor& parameter, const Tensor& gradient, SGDState& state,
                        const SGDOptions& o) -> kernels::SgdEntry {
    if (o.momentum == 0) return {parameter, gradient, {}, false};
    const bool first = !state.momentum.defined();
    if (first) state.momentum = empty_like(parameter);
    return {parameter, gradient, state.momentum, first};
  };
  step_groups("SGD", entries_, entry, [](const auto& entries, const SGDOptions& o) {
    kernels::sgd_step(entries, {o.lr, o.momentum, o.dampening, o.weight_decay, o.nesterov, o.maximize});
  });
}

}  // namespace tern::optim
