#include <tern/optim/adamw.h>

#include <tern/kernels/creation.h>

namespace tern::optim {
namespace {

void check_sense(const AdamWOptions& o) {
  check(o.lr >= 0, "AdamW: lr must not be negative, got ", o.lr);
  check(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1,
        "AdamW: betas must be from 0 to below 1, got ", o.beta1, " and ", o.beta2);
  check(o.eps >= 0, "AdamW: eps must not be negative, got ", o.eps);
  check(o.weight_decay >= 0, "AdamW: weight_decay must not be negative, got ", o.weight_decay);
}

}  // namespace

AdamW::AdamW(const std::vector<Tensor>& params, const AdamWOptions& options)
    : AdamW(std::vector<ParamGroup<AdamWOptions>>{{params, options}}) {}

AdamW::AdamW(const std::vector<ParamGroup<AdamWOptions>>& groups) {
  check(!groups.empty(), "AdamW: needs at least one group of parameters");
  for (const auto& group : groups) {
    check_sense(group.options);
    const size_t begin = parameters_.size();
    add_parameters(group.params);
    groups_.push_back({begin, parameters_.size(), group.options});
  }
  state_.resize(parameters_.size());
  entries_.reserve(parameters_.size());
}

kernels::AdamwEntry AdamW::next_entry(size_t i, const AdamWOptions& options) {
  State& state = state_[i];
  for (Tensor* tensor : {&state.mean, &state.square}) {
    if (!tensor->defined()) *tensor = zeros_like(parameters_[i]);
  }
  if (options.amsgrad && !state.max_square.defined()) state.max_square = zeros_like(parameters_[i]);
  return {parameters_[i],
          parameters_[i].grad(),
          state.mean,
          state.square,
          options.amsgrad ? state.max_square : Tensor(),
          ++state.step};
}

void AdamW::step() {
  for (const Group& group : groups_) {
    const AdamWOptions& o = group.options;
    check_sense(o);
    entries_.clear();
    for (size_t i = group.begin; i < group.end; ++i) {
      if (parameters_[i].grad().defined()) entries_.push_back(next_entry(i, o));
    }
    kernels::adamw_step(entries_, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize});
    entries_.clear();
  }
}

void AdamW::check_options(size_t group) const { check_sense(groups_[group].options); }

void AdamW::visit_options(size_t group, StateVisitor& visitor) {
  AdamWOptions& o = groups_[group].options;
  visitor.number("lr", o.lr);
  visitor.number("beta1", o.beta1);
  visitor.number("beta2", o.beta2);
  visitor.number("eps", o.eps);
  visitor.number("weight_decay", o.weight_decay);
  visitor.flag("amsgrad", o.amsgrad);
  visitor.flag("maximize", o.maximize);
}

void AdamW::visit_state(size_t i, StateVisitor& visitor) {
  visitor.count("step", state_[i].step);
  visitor.tensor("exp_avg", state_[i].mean);
  visitor.tensor("exp_avg_sq", state_[i].square);
  visitor.tensor("max_exp_avg_sq", state_[i].max_square);
}

}  // namespace tern::optim
