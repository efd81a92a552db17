// Times single operations. Prints a line of JSON per case: {"case":NAME,"microseconds":X}, the median over
// `--repeats` of the mean of as many calls as take some milliseconds. benchmarks/operations.sh compares the
// cases with PyTorch's of the same names (operations.py).
#include <tern/benchmarks/cases/cases.h>

#include <CLI/CLI.hpp>

using namespace benchmarks;

namespace {

Cases all_cases() {
  Cases cases;
  for (Cases (*list)() : {pointwise_cases, reduction_cases, image_cases, sequence_cases, indexing_cases,
                          copy_cases, loss_cases, training_cases})
    for (Case& one : list()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = tern::get_num_threads(), repeats = 5;
  bool list = false, whole = false;
  std::string only;
  CLI::App app("Single operations");
  app.add_option("--threads", threads)->check(CLI::PositiveNumber);
  app.add_option("--repeats", repeats)->check(CLI::PositiveNumber);
  app.add_option("--only", only, "cases whose name holds this text");
  app.add_flag("--whole", whole, "the text is the whole name");
  app.add_flag("--list", list, "print names, measure nothing");
  CLI11_PARSE(app, argc, argv);
  tern::set_num_threads(threads);
  for (const Case& one : all_cases()) {
    if (whole ? one.name != only : one.name.find(only) == std::string::npos) continue;
    if (list)
      fmt::print("{}\n", one.name);
    else
      report(one.name, one.make(), repeats);
  }
}
