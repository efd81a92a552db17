#include <tern/optim/adam.h>
#include <tern/optim/adamw.h>

namespace tern::optim {
namespace {

template <class Options>
void validate_adam(const Options& o) {
  check_not_negative(o.name, "lr", o.lr);
  check_betas(o.name, o.beta1, o.beta2);
  check_not_negative(o.name, "eps", o.eps);
  check_not_negative(o.name, "weight_decay", o.weight_decay);
}

template <class Options>
void visit_adam(Options& o, StateVisitor& visitor) {
  visitor.number("lr", o.lr);
  visitor.number("beta1", o.beta1);
  visitor.number("beta2", o.beta2);
  visitor.number("eps", o.eps);
  visitor.number("weight_decay", o.weight_decay);
  visitor.flag("amsgrad", o.amsgrad);
  visitor.flag("maximize", o.maximize);
}

}  // namespace

void AdamOptions::validate() const { validate_adam(*this); }
void AdamWOptions::validate() const { validate_adam(*this); }
void AdamOptions::visit(StateVisitor& visitor) { visit_adam(*this, visitor); }
void AdamWOptions::visit(StateVisitor& visitor) { visit_adam(*this, visitor); }

void AdamState::visit(StateVisitor& visitor) {
  visitor.count("step", step);
  visitor.tensor("exp_avg", mean);
  visitor.tensor("exp_avg_sq", square);
  visitor.optional_tensor("max_exp_avg_sq", max_square);
}

template <class Options>
void AdamOf<Options>::step() {
  const auto entry = [](const Tensor& parameter, const Tensor& gradient, AdamState& state,
                        const Options& o) -> kernels::AdamEntry {
    return {parameter,
            gradient,
            zeros_once(state.mean, parameter),
            zeros_once(state.square, parameter),
            o.amsgrad ? zeros_once(state.max_square, parameter) : Tensor(),
            ++state.step};
  };
  this->step_groups(Options::name, entries_, entry, [](const auto& entries, const Options& o) {
    kernels::adam_step(
        entries, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, Options::decoupled});
  });
}

template class AdamOf<AdamOptions>;
template class AdamOf<AdamWOptions>;

}  // namespace tern::optim
