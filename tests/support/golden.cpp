#include <tern/tests/support/golden.h>

#include <tern/autograd/backward.h>
#include <tern/tests/support/layouts.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <set>

namespace tern::tests {

struct Parameters::Json {
  nlohmann::json value;
};

Parameters::Parameters(const std::string& json)
    : json_(std::make_shared<Json>(Json{nlohmann::json::parse(json)})) {}

bool Parameters::has(const std::string& name) const {
  return json_->value.contains(name) && !json_->value[name].is_null();
}
double Parameters::number(const std::string& name) const { return json_->value.at(name); }
bool Parameters::flag(const std::string& name) const { return json_->value.at(name); }
std::string Parameters::text(const std::string& name) const { return json_->value.at(name); }
std::vector<int64_t> Parameters::list(const std::string& name) const { return json_->value.at(name); }
std::vector<double> Parameters::numbers(const std::string& name) const { return json_->value.at(name); }
std::map<std::string, std::string> Parameters::texts() const { return json_->value; }

std::string golden_path(const std::string& file) {
  return (std::filesystem::path(TERN_TESTS_FOLDER) / "golden" / file).string();
}

Golden::Golden(const std::string& name_of_file) {
  const Safetensors file = load_safetensors(golden_path(name_of_file));
  metadata_ = file.metadata;
  for (const auto& [name, tensor] : file.tensors) {
    const size_t first = name.find('/'), second = name.find('/', first + 1);
    check(second != name.npos, name_of_file, ": \"", name, "\" is not <op>/<case>/<tensor>");
    const std::string op = name.substr(0, first), one = name.substr(first + 1, second - first - 1);
    auto& cases = operations_[op];
    if (!cases.contains(one)) cases.emplace(one, Case{Parameters(metadata_.at(op + "/" + one)), {}});
    cases.at(one).tensors[name.substr(second + 1)] = tensor;
  }
}

bool agrees(const Tensor& got, const Tensor& want, double relative) {
  if (!got.defined() || got.shape() != want.shape() || got.dtype() != want.dtype()) return false;
  const std::vector<double> a = values_of(got), b = values_of(want);
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= relative * (std::abs(b[i]) + largest / 100))) return false;
  }
  return true;
}

std::string golden_problem(const Golden::Case& one, const GoldenOperation& operation) {
  std::set<std::string> seen;
  const auto find = [&](const std::string& name) {
    seen.insert(name);
    const auto found = one.tensors.find(name);
    return found == one.tensors.end() ? Tensor() : found->second;
  };
  std::vector<Tensor> inputs, wanted, expected;
  for (size_t i = 0;; ++i) {
    const Tensor input = find("input" + std::to_string(i));
    if (!input.defined()) break;
    inputs.push_back(input.detach());
    const Tensor gradient = find("dinput" + std::to_string(i));
    if (!gradient.defined()) continue;
    wanted.push_back(inputs.back().requires_grad_());
    expected.push_back(gradient);
  }
  const std::vector<Tensor> outputs = operation(inputs, one.parameters);
  std::string problem;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = "output" + (i == 0 ? "" : std::to_string(i));
    const Tensor want = find(name);
    if (!want.defined() || !agrees(outputs[i], want)) problem += " " + name;
  }
  if (const Tensor dy = find("dy"); dy.defined()) {
    const std::vector<Tensor> gradients = grad(outputs[0], wanted, {.gradient = dy, .allow_unused = true});
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!agrees(gradients[i], expected[i])) problem += " gradient " + std::to_string(i);
    }
  }
  for (const auto& [name, tensor] : one.tensors) {
    if (!seen.contains(name)) problem += " unused " + name;
  }
  return problem;
}

std::string golden_problems(const std::string& file, const GoldenTable& table) {
  Golden golden(file);
  std::set<std::string> seen;
  std::string problems;
  for (const auto& [op, cases] : golden.operations()) {
    for (const auto& [one, content] : cases) {
      if (content.is_optimizer()) continue;
      seen.insert(op);
      const auto operation = table.find(op);
      const std::string problem =
          operation == table.end() ? " not tested" : golden_problem(content, operation->second);
      if (!problem.empty()) problems += op + "/" + one + ":" + problem + "\n";
    }
  }
  for (const auto& [op, operation] : table) {
    if (!seen.contains(op)) problems += op + ": no case\n";
  }
  return problems;
}

}  // namespace tern::tests
