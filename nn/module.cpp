#include <tern/nn/module.h>

#include <tern/core/type_name.h>
#include <tern/kernels/copy.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>
#include <typeinfo>

namespace tern::nn {
namespace {

// Walks a tree of modules and calls what it was given, with dotted names. Undefined tensors are passed over.
class Walk : public Visitor {
 public:
  using TensorAction = std::function<void(const std::string&, Tensor&)>;
  using ModuleAction = std::function<void(const std::string&, Module&)>;

  Walk(TensorAction on_parameter, TensorAction on_buffer, ModuleAction on_module = {})
      : on_parameter_(std::move(on_parameter)),
        on_buffer_(std::move(on_buffer)),
        on_module_(std::move(on_module)) {}

  void parameter(const std::string& name, Tensor& value) override {
    if (on_parameter_ && value.defined()) on_parameter_(path_ + name, value);
  }
  void buffer(const std::string& name, Tensor& value) override {
    if (on_buffer_ && value.defined()) on_buffer_(path_ + name, value);
  }
  void module(const std::string& name, Module& child) override {
    if (on_module_) on_module_(path_ + name, child);
    const std::string outer = path_;
    path_ += name + ".";
    child.members(*this);
    path_ = outer;
  }

 private:
  TensorAction on_parameter_, on_buffer_;
  ModuleAction on_module_;
  std::string path_;
};

// Reading walks go through the same members(), which must be able to hand out tensors to be replaced.
Module& writable(const Module& module) { return const_cast<Module&>(module); }

NamedTensors unique_tensors(const Module& module, bool buffers) {
  NamedTensors result;
  const auto add = [&](const std::string& name, Tensor& tensor) {
    const bool seen =
        std::any_of(result.begin(), result.end(), [&](const auto& e) { return e.second.is_same(tensor); });
    if (!seen) result.emplace_back(name, tensor);
  };
  Walk walk(buffers ? Walk::TensorAction() : add, buffers ? add : Walk::TensorAction());
  writable(module).members(walk);
  return result;
}

// The differences that keep `state` from being loaded, or "".
std::string mismatches(const TensorMap& own, const TensorMap& state, bool strict) {
  std::ostringstream missing, unexpected, undefined, shapes;
  for (const auto& [name, tensor] : own) {
    const auto found = state.find(name);
    if (found == state.end())
      missing << ' ' << name;
    else if (!found->second.defined())
      undefined << ' ' << name;
    else if (found->second.shape() != tensor.shape()) {
      shapes << ' ' << name << " (is " << tensor.shape() << ", came " << found->second.shape() << ')';
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!own.contains(name)) unexpected << ' ' << name;
  }
  std::string text;
  if (strict && !missing.str().empty()) text += "; missing:" + missing.str();
  if (strict && !unexpected.str().empty()) text += "; unexpected:" + unexpected.str();
  if (!undefined.str().empty()) text += "; undefined:" + undefined.str();
  if (!shapes.str().empty()) text += "; of another shape:" + shapes.str();
  return text;
}

void print(std::ostream& out, Module& module, const std::string& indent) {
  // Only direct children: a visitor that does not descend.
  struct Children : Visitor {
    void parameter(const std::string&, Tensor&) override {}
    void buffer(const std::string&, Tensor&) override {}
    void module(const std::string& name, Module& child) override { list.emplace_back(name, &child); }
    std::vector<std::pair<std::string, Module*>> list;
  } children;
  module.members(children);
  std::string own = module.describe();
  if (children.list.empty()) {
    out << own;
    return;
  }
  // "Net()" becomes "Net(", the children and ")".
  if (own.ends_with(')'))
    own.pop_back();
  else
    own += '(';
  out << own << '\n';
  for (const auto& [name, child] : children.list) {
    out << indent << "  (" << name << "): ";
    print(out, *child, indent + "  ");
    out << '\n';
  }
  out << indent << ')';
}

}  // namespace

void Module::members(Visitor&) {}

std::string Module::describe() const { return short_type_name(typeid(*this).name()) + "()"; }

void ModuleScope::begin(const Module& module) {
  ProfileScope::begin(typeid(module).name(), ProfileKind::module, &module);
}

void rethrow_from(const Module& module) {
  // The last module that an Error left on this thread, and its text: an Error of that text was thrown in
  // there.
  struct Failure {
    const Module* module = nullptr;
    std::string text;
    bool has_path = false;
  };
  thread_local Failure last;
  Failure now;
  now.module = &module;
  std::string where = module.describe() + ": ";
  try {
    try {
      throw;
    } catch (const Error& error) {
      if (error.what() == last.text) {
        writable(module).each_module([&](const std::string& path, Module& below) {
          if (&below == last.module && !now.has_path)
            where = path + (last.has_path ? "." : ", "), now.has_path = true;
        });
      }
      rethrow_with(where);
    }
  } catch (const Error& error) {
    now.text = error.what();
    last = now;
    throw;
  }
}

NamedTensors Module::named_parameters() const { return unique_tensors(*this, false); }
NamedTensors Module::named_buffers() const { return unique_tensors(*this, true); }

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> result;
  for (const auto& [name, tensor] : named_parameters()) result.push_back(tensor);
  return result;
}

int64_t Module::num_parameters() const {
  int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

TensorMap Module::state_dict() const {
  TensorMap state;
  writable(*this).each_tensor([&](const std::string& name, Tensor& tensor) {
    check(state.emplace(name, tensor).second, "state_dict: two members are named ", name);
  });
  return state;
}

void Module::check_state_dict(const TensorMap& state, bool strict) const {
  const std::string problems = mismatches(state_dict(), state, strict);
  check(problems.empty(), "load_state_dict: the state does not fit the module", problems);
}

void Module::load_state_dict(const TensorMap& state, bool strict) const {
  check_state_dict(state, strict);
  for (const auto& [name, tensor] : state_dict()) {
    const auto found = state.find(name);
    if (found == state.end()) continue;
    kernels::copy(found->second.device() == tensor.device() ? found->second
                                                            : kernels::to(found->second, tensor.device()),
                  tensor);
  }
}

void Module::to(Device device) const {
  writable(*this).each_tensor([&](const std::string&, Tensor& tensor) {
    if (tensor.device() == device) return;
    tensor.set_data(kernels::to(tensor.detach(), device));
    if (tensor.grad().defined()) tensor.set_grad(kernels::to(tensor.grad(), device));
  });
}

void Module::to(DType dtype) const {
  check(is_floating_point(dtype), "Module::to: needs a floating-point dtype, got ", dtype);
  writable(*this).each_tensor([&](const std::string&, Tensor& tensor) {
    if (!is_floating_point(tensor.dtype()) || tensor.dtype() == dtype) return;
    tensor.set_data(kernels::to(tensor.detach(), dtype));
    if (tensor.grad().defined()) tensor.set_grad(kernels::to(tensor.grad(), dtype));
  });
}

void Module::train(bool on) const {
  writable(*this).each_module([on](const std::string&, Module& module) { module.shared_->training = on; });
}

void Module::requires_grad_(bool on) const {
  for (const Tensor& parameter : parameters()) parameter.requires_grad_(on);
}

void Module::zero_grad() const {
  for (const Tensor& parameter : parameters()) parameter.set_grad(Tensor());
}

void Module::each_tensor(const std::function<void(const std::string&, Tensor&)>& action) {
  Walk walk(action, action);
  members(walk);
}

void Module::each_module(const std::function<void(const std::string&, Module&)>& action) {
  action("", *this);
  Walk walk({}, {}, action);
  members(walk);
}

void make_independent(Module& module) {
  std::map<const TensorImpl*, Tensor> copies;
  module.each_tensor([&](const std::string&, Tensor& tensor) {
    Tensor& own = copies[tensor.impl().get()];
    if (!own.defined()) {
      own = kernels::clone(tensor.detach());
      own.requires_grad_(tensor.requires_grad());
    }
    tensor = own;
  });
  std::map<const Module::Shared*, Ref<Module::Shared>> records;
  module.each_module([&](const std::string&, Module& part) {
    Ref<Module::Shared>& own = records[part.shared_.get()];
    if (!own) {
      own = make_ref<Module::Shared>();
      own->training = part.shared_->training;
      own->find_peers = part.shared_->find_peers;
    }
    part.shared_ = own;
  });
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  print(out, writable(module), "");
  return out;
}

}  // namespace tern::nn
