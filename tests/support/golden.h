// Values that PyTorch computed: the files of tests/golden that tests/golden/golden_cases.py describes.
#pragma once

#include <tern/core/safetensors.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tern::tests {

/// The path of a file of tests/golden.
std::string golden_path(const std::string& file);

/// The parameters of one case besides its tensors.
class Parameters {
 public:
  explicit Parameters(const std::string& json);
  bool has(const std::string& name) const;  ///< present, and not null
  double number(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<int64_t> list(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;
  std::map<std::string, std::string> texts() const;

 private:
  struct Json;
  std::shared_ptr<Json> json_;
};

using GoldenTensors = std::map<std::string, Tensor>;
/// Computes an operation's results (the value, and perhaps indices) from a case's inputs.
using GoldenOperation =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Parameters& parameters)>;

/// How each operation of a file is computed here, by its name there.
using GoldenTable = std::map<std::string, GoldenOperation>;

/// All cases of a file, by operation ("conv2d") and case ("3x3_pad1").
class Golden {
 public:
  struct Case {
    Parameters parameters;
    GoldenTensors tensors;
    bool is_optimizer() const { return tensors.contains("step0/param"); }
  };
  explicit Golden(const std::string& file = "ops.safetensors");
  /// The operations and optimizers of the file, each with all its cases.
  std::map<std::string, std::map<std::string, Case>>& operations() { return operations_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::map<std::string, std::map<std::string, Case>> operations_;
  std::map<std::string, std::string> metadata_;
};

/// What is wrong with `operation` in this case, or "": its values and all gradients must agree to 1e-10
/// relative, and every tensor of the case must have been looked at.
std::string golden_problem(const Golden::Case& one, const GoldenOperation& operation);

/// What is wrong with the operations of `file`, a line a case, or "": every case must be met by the table's
/// operation, and every operation of the table must have a case.
std::string golden_problems(const std::string& file, const GoldenTable& table);

/// Whether `got` agrees with `want` to `relative` (and a hundredth of that of the largest value).
bool agrees(const Tensor& got, const Tensor& want, double relative = 1e-10);

}  // namespace tern::tests
