// What all optimizers have in common: parameters in groups, each with options of its own, and a state that is
// saved and loaded exactly. Used by one thread.
#pragma once

#include <tern/core/safetensors.h>
#include <tern/core/tensor.h>

#include <string>
#include <vector>

namespace tern::optim {

/// Parameters that share options: SGD({{body, {.lr = 0.01}}, {head, {.lr = 0.1}}}).
template <class Options>
struct ParamGroup {
  std::vector<Tensor> params;
  Options options;
};

/// What an optimizer shows its options and state to; each may be replaced. An undefined tensor and a count of
/// 0 do not exist yet.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void number(const std::string& name, double& value) = 0;
  virtual void flag(const std::string& name, bool& value) = 0;
  virtual void count(const std::string& name, int64_t& value) = 0;
  virtual void tensor(const std::string& name, Tensor& value) = 0;
  /// A tensor that some options alone call for; all else of a parameter's state comes into being together.
  virtual void optional_tensor(const std::string& name, Tensor& value) { tensor(name, value); }
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Changes each parameter that has a gradient; the others and their state stay as they are. Not recorded.
  virtual void step() = 0;
  /// Drops all gradients; launches nothing.
  void zero_grad();

  virtual size_t num_groups() const = 0;
  /// The learning rate of a group: what schedules change. Throws Error when there is no such group.
  virtual double lr(size_t group = 0) const = 0;
  virtual void set_lr(double lr, size_t group) = 0;
  /// Sets it for all groups.
  void set_lr(double lr);

  /// State of parameters ("state.3.momentum_buffer", counted over all groups) and options of groups
  /// ("group.0.lr"), as handles.
  virtual TensorMap state_dict() const;
  /// Puts a state back, bit for bit; where a parameter has another dtype than when it was saved, converted.
  /// Throws Error naming what is missing (of a parameter's state all or nothing must be there), unexpected,
  /// undefined, of another shape or no count, and for options that the constructor refuses; then nothing has
  /// changed.
  virtual void load_state_dict(const TensorMap& state);
  /// Throws what load_state_dict() would throw; changes nothing.
  void check_state_dict(const TensorMap& state) const;

 protected:
  Optimizer() = default;
  // Moved only: a copy would share the state's tensors but not its counts.
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Throws Error for an undefined parameter, one that is no leaf, one that is given twice, and an empty
  /// list.
  void add_parameters(const std::vector<Tensor>& params);

  /// `group` itself; throws Error when there is no such group.
  size_t checked(size_t group) const;

  /// Throws Error when the options of a group make no sense.
  virtual void check_options(size_t group) const = 0;
  /// Shows the options of a group.
  virtual void visit_options(size_t group, StateVisitor& visitor) = 0;
  /// Shows what is kept for parameter `i`.
  virtual void visit_state(size_t i, StateVisitor& visitor) = 0;

  std::vector<Tensor> parameters_;  ///< of all groups, in order

 private:
  // What a visitor reads beside what it is shown.
  struct Place {
    std::string prefix;                 // of names
    const Tensor* parameter = nullptr;  // whose state is shown
  };
  class Saver;
  class Loader;

  void visit_all_options(StateVisitor& visitor, Place& place);
  void visit_all_state(StateVisitor& visitor, Place& place);
};

}  // namespace tern::optim
