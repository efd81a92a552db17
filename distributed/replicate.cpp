#include <tern/distributed/replicate.h>

#include <tern/autograd/convert.h>
#include <tern/distributed/scatter.h>

#include <map>
#include <typeinfo>

namespace tern::nn::parallel::detail {
namespace {

// The tensors and modules of a tree, in the order of its members.
class Members : public Visitor {
 public:
  explicit Members(Module& module) : modules_{&module} { module.members(*this); }
  void parameter(const std::string&, Tensor& value) override { tensors_.push_back(&value); }
  void buffer(const std::string&, Tensor& value) override { tensors_.push_back(&value); }
  void module(const std::string&, Module& child) override {
    modules_.push_back(&child);
    child.members(*this);
  }

  const std::vector<Tensor*>& tensors() const { return tensors_; }

  // Training flags are shared by copies: different ones mean that a module has been replaced.
  bool is_like(const Members& other) const {
    if (tensors_.size() != other.tensors_.size() || modules_.size() != other.modules_.size()) return false;
    for (size_t i = 0; i < modules_.size(); ++i) {
      const Module &a = *modules_[i], &b = *other.modules_[i];
      if (typeid(a) != typeid(b) || a.is_training() != b.is_training()) return false;
    }
    return true;
  }

 private:
  std::vector<Tensor*> tensors_;
  std::vector<Module*> modules_;
};

}  // namespace

void check_replicable(Module& module, std::span<const Device> devices) {
  check_devices(devices, "replicate");
  const std::unique_ptr<Module> copy = module.copy();
  const Module &original = module, &other = *copy;
  check(typeid(original) == typeid(other), "replicate: copy() of ", module.describe(), " makes a ",
        copy->describe(), "; a module must derive from Layer<Itself>");
  const Members own(module), copied(*copy);
  check(own.tensors().size() == copied.tensors().size(), "replicate: a copy of ", module.describe(),
        " has other members than the module");
  for (size_t i = 0; i < own.tensors().size(); ++i) {
    check(own.tensors()[i] != copied.tensors()[i], "replicate: copies of ", module.describe(),
          " share a member by pointer; modules must hold their members by value");
  }
}

bool refresh(Module& module, Module& replica, Device device) {
  const Members from(module), into(replica);
  if (!from.is_like(into)) return false;
  std::map<const TensorImpl*, Tensor> moved;
  for (size_t i = 0; i < from.tensors().size(); ++i) {
    const Tensor& source = *from.tensors()[i];
    Tensor& target = *into.tensors()[i];
    target = Tensor();  // its memory may serve for the new one
    if (!source.defined()) continue;
    Tensor& copy = moved[source.impl().get()];
    if (!copy.defined()) copy = tern::to(source, device);
    target = copy;
  }
  return true;
}

}  // namespace tern::nn::parallel::detail
