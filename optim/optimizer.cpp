#include <tern/optim/optimizer.h>

#include <tern/core/profile.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tern::optim {

// Copies options and state into a map.
class Optimizer::Saver : public StateVisitor {
 public:
  Saver(TensorMap& state, const Place& place) : state_(state), place_(place) {}
  void number(const std::string& name, double& value) override { put(name, full({}, value, float64)); }
  void flag(const std::string& name, bool& value) override { put(name, full({}, value, boolean)); }
  void count(const std::string& name, int64_t& value) override {
    if (value > 0) put(name, full({}, value, int64));
  }
  void tensor(const std::string& name, Tensor& value) override {
    if (value.defined()) put(name, value);
  }

 private:
  void put(const std::string& name, const Tensor& value) { state_[place_.prefix + name] = value; }

  TensorMap& state_;
  const Place& place_;
};

// First compares a map with what there is, then, when nothing is wrong, takes the values over.
class Optimizer::Loader : public StateVisitor {
 public:
  Loader(const TensorMap& state, const Place& place) : state_(state), place_(place) {}
  bool apply = false;
  std::string problems;
  std::set<std::string> known;

  void number(const std::string& name, double& value) override { option(name, value); }
  void flag(const std::string& name, bool& value) override { option(name, value); }
  void count(const std::string& name, int64_t& value) override {
    note_presence(name);
    const Tensor* found = find_number(name);
    if (found && !is_count(*found)) problem("no count", name);
    if (apply) value = found ? found->item<int64_t>() : 0;
  }
  void tensor(const std::string& name, Tensor& value) override {
    note_presence(name);
    take(name, value);
  }
  void optional_tensor(const std::string& name, Tensor& value) override {
    if (state_.contains(place_.prefix + name)) parts_[place_.prefix].any = true;
    take(name, value);
  }
  // Once everything was shown: state of which a part is there and a part is not.
  void add_half_filled() {
    for (const auto& [prefix, part] : parts_) {
      if (part.any) problems += part.missing;
    }
  }

 private:
  // What the map holds of one parameter's state.
  struct Part {
    bool any = false;
    std::string missing;
  };

  void take(const std::string& name, Tensor& value) {
    const Tensor* found = find(name);
    if (found && found->shape() != place_.parameter->shape()) problem("of another shape", name);
    if (!apply) return;
    value = Tensor();
    if (!found) return;
    // Of a dtype that steps accept: a model may have been converted since its state was saved.
    const DType own = place_.parameter->dtype();
    const bool wider = is_reduced_floating_point(own) && found->dtype() == float32;
    value = empty_like(*place_.parameter, wider ? float32 : own);
    kernels::copy(kernels::to(*found, place_.parameter->device()), value);
  }
  void note_presence(const std::string& name) {
    Part& part = parts_[place_.prefix];
    if (state_.contains(place_.prefix + name))
      part.any = true;
    else
      part.missing += " missing: " + place_.prefix + name + ";";
  }
  static bool is_count(const Tensor& x) {
    const auto value = x.numel() == 1 ? x.item<double>() : 0;
    return value >= 0 && value < 0x1p63 && value == std::floor(value);
  }
  void problem(const char* what, const std::string& name) {
    problems.append(" ").append(what).append(": ").append(place_.prefix + name).append(";");
  }
  const Tensor* find(const std::string& name) {
    const auto found = state_.find(*known.insert(place_.prefix + name).first);
    if (found == state_.end()) return nullptr;
    if (found->second.defined()) return &found->second;
    problem("undefined", name);
    return nullptr;
  }
  const Tensor* find_number(const std::string& name) {
    const Tensor* found = find(name);
    if (found && found->numel() != 1) problem("of another shape", name);
    return found;
  }
  template <class T>
  void option(const std::string& name, T& value) {
    const Tensor* found = find_number(name);
    if (!state_.contains(place_.prefix + name)) problem("missing", name);
    if (apply) value = found->item<T>();
  }

  const TensorMap& state_;
  const Place& place_;
  std::map<std::string, Part> parts_;
};

void Optimizer::zero_grad() {
  const OperationScope scope("zero_grad");
  for (const Tensor& parameter : parameters_) parameter.set_grad(Tensor());
}

void Optimizer::set_lr(double lr) {
  for (size_t group = 0; group < num_groups(); ++group) set_lr(lr, group);
}

size_t Optimizer::checked(size_t group) const {
  check(group < num_groups(), "optimizer: there is no group ", group, " among ", num_groups());
  return group;
}

void Optimizer::add_parameters(const std::vector<Tensor>& params) {
  check(!params.empty(), "optimizer: a group has no parameters");
  for (const Tensor& parameter : params) {
    check(parameter.defined() && parameter.is_leaf() && is_floating_point(parameter.dtype()),
          "optimizer: parameters must be floating-point leaves");
    const bool twice = std::any_of(parameters_.begin(), parameters_.end(),
                                   [&](const Tensor& p) { return p.is_same(parameter); });
    check(!twice, "optimizer: a parameter of shape ", parameter.shape(), " was given twice");
    parameters_.push_back(parameter);
  }
}

void Optimizer::visit_all_options(StateVisitor& visitor, Place& place) {
  for (size_t group = 0; group < num_groups(); ++group) {
    place.prefix = "group." + std::to_string(group) + ".";
    visit_options(group, visitor);
  }
}

void Optimizer::visit_all_state(StateVisitor& visitor, Place& place) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    place = {"state." + std::to_string(i) + ".", &parameters_[i]};
    visit_state(i, visitor);
  }
}

TensorMap Optimizer::state_dict() const {
  TensorMap state;
  Place place;
  Saver saver(state, place);
  auto& self = const_cast<Optimizer&>(*this);  // the saver only reads
  self.visit_all_options(saver, place);
  self.visit_all_state(saver, place);
  return state;
}

void Optimizer::check_state_dict(const TensorMap& state) const {
  auto& self = const_cast<Optimizer&>(*this);  // options are put back before this returns
  Place place;
  Loader loader(state, place);
  self.visit_all_options(loader, place);
  self.visit_all_state(loader, place);
  loader.add_half_filled();
  for (const auto& [name, tensor] : state) {
    if (!loader.known.contains(name)) loader.problems += " unexpected: " + name + ";";
  }
  check(loader.problems.empty(), "load_state_dict: the state does not fit the optimizer;", loader.problems);
  const TensorMap before = Optimizer::state_dict();
  loader.apply = true;
  self.visit_all_options(loader, place);
  Loader restorer(before, place);
  restorer.apply = true;
  try {
    for (size_t group = 0; group < num_groups(); ++group) check_options(group);
  } catch (const Error&) {
    self.visit_all_options(restorer, place);
    throw;
  }
  self.visit_all_options(restorer, place);
}

void Optimizer::load_state_dict(const TensorMap& state) {
  Optimizer::check_state_dict(state);
  Place place;
  Loader loader(state, place);
  loader.apply = true;
  visit_all_options(loader, place);
  visit_all_state(loader, place);
}

}  // namespace tern::optim
