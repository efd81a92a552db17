#include <tern/optim/sgd.h>

namespace tern::optim {
namespace {

void check_sense(const SGDOptions& o) {
  check(o.lr >= 0, "SGD: lr must not be negative, got ", o.lr);
  check(o.momentum >= 0, "SGD: momentum must not be negative, got ", o.momentum);
  check(o.weight_decay >= 0, "SGD: weight_decay must not be negative, got ", o.weight_decay);
  check(!o.nesterov || (o.momentum > 0 && o.dampening == 0), "SGD: nesterov needs momentum and no dampening");
}

}  // namespace

SGD::SGD(const std::vector<Tensor>& params, const SGDOptions& options)
    : SGD(std::vector<ParamGroup<SGDOptions>>{{params, options}}) {}

SGD::SGD(const std::vector<ParamGroup<SGDOptions>>& groups) {
  check(!groups.empty(), "SGD: needs at least one group of parameters");
  for (const auto& group : groups) {
    check_sense(group.options);
    const size_t begin = parameters_.size();
    add_parameters(group.params);
    groups_.push_back({begin, parameters_.size(), group.options});
  }
  momentum_.resize(parameters_.size());
  entries_.reserve(parameters_.size());
}

void SGD::step() {
  for (const Group& group : groups_) {
    const SGDOptions& o = group.options;
    check_sense(o);
    entries_.clear();
    for (size_t i = group.begin; i < group.end; ++i) {
      const Tensor gradient = parameters_[i].grad();
      if (!gradient.defined()) continue;
      const bool first = o.momentum != 0 && !momentum_[i].defined();
      if (first) momentum_[i] = empty_like(parameters_[i]);
      entries_.push_back({parameters_[i], gradient, o.momentum != 0 ? momentum_[i] : Tensor(), first});
    }
    kernels::sgd_step(entries_, {o.lr, o.momentum, o.dampening, o.weight_decay, o.nesterov, o.maximize});
    entries_.clear();
  }
}

void SGD::check_options(size_t group) const { check_sense(groups_[group].options); }

void SGD::visit_options(size_t group, StateVisitor& visitor) {
  SGDOptions& o = groups_[group].options;
  visitor.number("lr", o.lr);
  visitor.number("momentum", o.momentum);
  visitor.number("dampening", o.dampening);
  visitor.number("weight_decay", o.weight_decay);
  visitor.flag("nesterov", o.nesterov);
  visitor.flag("maximize", o.maximize);
}

void SGD::visit_state(size_t i, StateVisitor& visitor) { visitor.tensor("momentum_buffer", momentum_[i]); }

}  // namespace tern::optim
