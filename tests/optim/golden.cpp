// The steps of PyTorch's optimizers, as tests/golden/golden_ops.py and golden_optim.py wrote them down.
#include <tern/optim/adagrad.h>
#include <tern/optim/adam.h>
#include <tern/optim/adamw.h>
#include <tern/optim/lion.h>
#include <tern/optim/rmsprop.h>
#include <tern/optim/sgd.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

optim::SGDOptions sgd_options(const Parameters& p) {
  optim::SGDOptions o{.lr = p.number("lr")};
  if (p.has("momentum")) o.momentum = p.number("momentum");
  if (p.has("dampening")) o.dampening = p.number("dampening");
  if (p.has("weight_decay")) o.weight_decay = p.number("weight_decay");
  if (p.has("nesterov")) o.nesterov = p.flag("nesterov");
  if (p.has("maximize")) o.maximize = p.flag("maximize");
  return o;
}

template <class Options>
Options adam_options(const Parameters& p) {
  Options o{.lr = p.number("lr"),
            .beta1 = p.numbers("betas")[0],
            .beta2 = p.numbers("betas")[1],
            .eps = p.number("eps"),
            .weight_decay = p.number("weight_decay")};
  if (p.has("amsgrad")) o.amsgrad = p.flag("amsgrad");
  if (p.has("maximize")) o.maximize = p.flag("maximize");
  return o;
}

optim::RMSpropOptions rmsprop_options(const Parameters& p) {
  return {p.number("lr"),       p.number("alpha"),  p.number("eps"),   p.number("weight_decay"),
          p.number("momentum"), p.flag("centered"), p.flag("maximize")};
}

optim::AdagradOptions adagrad_options(const Parameters& p) {
  return {p.number("lr"),           p.number("lr_decay"),
          p.number("weight_decay"), p.number("initial_accumulator_value"),
          p.number("eps"),          p.flag("maximize")};
}

optim::LionOptions lion_options(const Parameters& p) {
  return {p.number("lr"), p.numbers("betas")[0], p.numbers("betas")[1], p.number("weight_decay"),
          p.flag("maximize")};
}

struct Group {
  Tensors parameters;
  Parameters options;
};

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<Group>& groups, Options (*read)(const Parameters&)) {
  std::vector<optim::ParamGroup<Options>> list;
  for (const Group& group : groups) list.push_back({group.parameters, read(group.options)});
  return std::make_unique<Optimizer>(list);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const std::vector<Group>& groups) {
  if (name == "sgd") return make<optim::SGD>(groups, sgd_options);
  if (name == "adam") return make<optim::Adam>(groups, adam_options<optim::AdamOptions>);
  if (name == "adamw") return make<optim::AdamW>(groups, adam_options<optim::AdamWOptions>);
  if (name == "rmsprop") return make<optim::RMSprop>(groups, rmsprop_options);
  if (name == "adagrad") return make<optim::Adagrad>(groups, adagrad_options);
  check(name == "lion", "there is no optimizer ", name);
  return make<optim::Lion>(groups, lion_options);
}

// One case of a file, with gradients that may be absent: its tensors and what to take from them.
struct Trajectory {
  const TensorMap& tensors;
  std::string prefix;
  std::vector<double> lrs;  // of all groups in each step, or none
  double relative;

  Tensor find(size_t step, const std::string& what) const {
    const auto found = tensors.find(prefix + "step" + std::to_string(step) + "/" + what);
    return found == tensors.end() ? Tensor() : found->second;
  }

  // Takes the five steps with the gradients of the file; says where the parameters leave the file's, or "".
  std::string problem(optim::Optimizer& optimizer, const Tensors& parameters,
                      const std::function<std::string(size_t)>& suffix) const {
    for (size_t step = 1; step <= 5; ++step) {
      if (!lrs.empty()) optimizer.set_lr(lrs.at(step - 1));
      optimizer.zero_grad();
      for (size_t i = 0; i < parameters.size(); ++i) parameters[i].set_grad(find(step, "grad" + suffix(i)));
      optimizer.step();
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (!agrees(parameters[i].detach(), find(step, "param" + suffix(i)), relative))
          return prefix + ": parameter " + std::to_string(i) + " in step " + std::to_string(step) + "\n";
      }
    }
    return "";
  }
};

// Loaded tensors are copied: the steps write into the parameters.
Tensor parameter_of(const Tensor& start) { return laid_out(start, Lay::contiguous).requires_grad_(); }

std::string number(size_t i) { return std::to_string(i); }

// A case of optim.safetensors in one dtype.
std::string case_problem(const Safetensors& file, const std::string& name, const std::string& dtype) {
  const Parameters content(file.metadata.at(name));
  const Trajectory trajectory{file.tensors, name + "/" + dtype + "/", content.numbers("lrs"),
                              dtype == "float32" ? 4e-6 : 1e-12};
  Tensors parameters;
  std::vector<Group> groups;
  for (size_t g = 0; g < static_cast<size_t>(content.number("groups")); ++g) {
    groups.push_back({{}, Parameters(file.metadata.at(name + "/group" + number(g)))});
    for (int k = 0; k < groups.back().options.number("size"); ++k) {
      parameters.push_back(parameter_of(trajectory.find(0, "param" + number(parameters.size()))));
      groups.back().parameters.push_back(parameters.back());
    }
  }
  return trajectory.problem(*make_optimizer(content.text("optimizer"), groups), parameters, number);
}

}  // namespace

TEST_CASE("each option alone takes PyTorch's steps") {
  Golden golden;
  std::string problems;
  int count = 0;
  for (const std::string name : {"sgd", "adamw"}) {
    for (const auto& [one, content] : golden.operations().at(name)) {
      const Trajectory trajectory{content.tensors, "", {}, 1e-12};
      const Tensor parameter = parameter_of(trajectory.find(0, "param"));
      const auto optimizer = make_optimizer(name, {{{parameter}, content.parameters}});
      const std::string problem =
          trajectory.problem(*optimizer, {parameter}, [](size_t) { return std::string(); });
      if (!problem.empty()) problems += name + "/" + one + problem;
      ++count;
    }
  }
  CHECK(problems == "");
  CHECK(count == 13);
}

TEST_CASE("groups, absent gradients and changing learning rates take PyTorch's steps in both dtypes") {
  const Safetensors file = load_safetensors(golden_path("optim.safetensors"));
  std::string problems;
  int count = 0;
  for (const auto& [name, content] : file.metadata) {
    // "sgd/groups" is a case, "sgd/groups/group0" a part of one, "torch" neither.
    if (std::count(name.begin(), name.end(), '/') != 1) continue;
    for (const char* dtype : {"float32", "float64"}) problems += case_problem(file, name, dtype);
    ++count;
  }
  CHECK(problems == "");
  CHECK(count == 25);
}
