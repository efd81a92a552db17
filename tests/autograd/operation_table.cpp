// docs/operations.md: made from the list of operations, and held to it. TERN_WRITE_DOCS=1 writes it anew.
#include <tern/core/error.h>
#include <tern/tests/autograd/operation_list.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr DType dtypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

// The source folder.
const std::filesystem::path root = std::filesystem::path(golden_path("")) / ".." / "..";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether the operation serves the dtype; an Error that does not say so counts as a problem.
bool serves(const OperationEntry& operation, DType dtype, std::string& problems) {
  try {
    operation.call(dtype);
    return true;
  } catch (const Error& error) {
    if (std::string(error.what()).find(name(dtype)) == std::string::npos)
      problems += operation.name + " of " + std::string(name(dtype)) + ": " + error.what() + "\n";
    return false;
  }
}

std::string table(std::string& problems) {
  std::string text =
      "# Operations\n\nWritten by the test `autograd` (`TERN_WRITE_DOCS=1`), from the code: which dtypes "
      "each "
      "operation serves, tried out, and what\nPyTorch calls it. Any other dtype is an `Error` that says so. "
      "float16 and bfloat16 compute in float32 and round once.\n";
  for (const OperationSection& section : operation_list()) {
    text += "\n## " + section.title + "\n\n`" + section.header + "`\n\n| Operation | PyTorch |";
    for (const DType dtype : dtypes) text += " " + std::string(name(dtype)) + " |";
    text += "\n| --- | --- |";
    for ([[maybe_unused]] const DType dtype : dtypes) text += " :-: |";
    text += "\n";
    for (const OperationEntry& operation : section.operations) {
      text += "| `" + operation.name + "` | " + operation.pytorch + " |";
      for (const DType dtype : dtypes) text += serves(operation, dtype, problems) ? " yes |" : " |";
      text += "\n";
    }
  }
  return text;
}

// The functions that a header declares: lines that begin with a type and a name.
std::set<std::string> declared_in(const std::string& header) {
  std::set<std::string> names;
  std::ifstream file(root / header);
  for (std::string line; std::getline(file, line);) {
    for (const std::string type : {"Tensor ", "const Tensor& ", "ValuesAndIndices ", "std::vector<Tensor> ",
                                   "bool ", "RecurrentOutput ", "inline Tensor "}) {
      const size_t open = line.find('(');
      if (!line.starts_with(type) || open == line.npos) continue;
      const std::string function = line.substr(type.size(), open - type.size());
      if (function.find(' ') == function.npos && !function.starts_with("operator")) names.insert(function);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("docs/operations.md says what each operation serves, and each refusal names the dtype") {
  std::string problems;
  const std::string text = table(problems);
  CHECK(problems == "");
  const std::filesystem::path path = root / "docs" / "operations.md";
  if (std::getenv("TERN_WRITE_DOCS")) std::ofstream(path) << text;
  CHECK_MESSAGE(read(path) == text, "docs/operations.md differs: write it with TERN_WRITE_DOCS=1");
}

TEST_CASE("every operation that the headers declare is in the list") {
  std::set<std::string> listed, declared;
  for (const OperationSection& section : operation_list()) {
    for (const OperationEntry& operation : section.operations) listed.insert(operation.name);
  }
  for (const char* header : {"operators", "functional", "losses", "reductions", "statistics", "views",
                             "rearrange", "indexing", "ordering", "recurrent", "convert"})
    declared.merge(declared_in(std::string("autograd/") + header + ".h"));
  CHECK(declared.size() > 100);
  for (const std::string& name : declared) CHECK_MESSAGE(listed.contains(name), name);
}
