#include <tern/optim/adagrad.h>

#include <tern/kernels/creation.h>

namespace tern::optim {

void AdagradOptions::validate() const {
  check_not_negative("Adagrad", "lr", lr);
  check_not_negative("Adagrad", "lr_decay", lr_decay);
  check_not_negative("Adagrad", "weight_decay", weight_decay);
  check_not_negative("Adagrad", "initial_accumulator_value", initial_accumulator_value);
  check_not_negative("Adagrad", "eps", eps);
}

void AdagradOptions::visit(StateVisitor& visitor) {
  visitor.number("lr", lr);
  visitor.number("lr_decay", lr_decay);
  visitor.number("weight_decay", weight_decay);
  visitor.number("initial_accumulator_value", initial_accumulator_value);
  visitor.number("eps", eps);
  visitor.flag("maximize", maximize);
}

void AdagradState::visit(StateVisitor& visitor) {
  visitor.count("step", step);
  visitor.tensor("sum", sum);
}

void Adagrad::step() {
  const auto entry = [](const Tensor& parameter, const Tensor& gradient, AdagradState& state,
                        const AdagradOptions& o) -> kernels::AdagradEntry {
    if (!state.sum.defined()) state.sum = full_like(parameter, o.initial_accumulator_value);
    return {parameter, gradient, state.sum, ++state.step};
  };
  step_groups("Adagrad", entries_, entry, [](const auto& entries, const AdagradOptions& o) {
    kernels::adagrad_step(entries, {o.lr, o.lr_decay, o.weight_decay, o.eps, o.maximize});
  });
}

}  // namespace tern::optim
