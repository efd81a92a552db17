// One rank of a group that times all_reduce of float32 sums, over sizes from 1 KB to 100 MB; allreduce.py
// starts the ranks, and times PyTorch's.

#include <tern/distributed/collectives.h>
#include <tern/distributed/file_store.h>
#include <tern/kernels/creation.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

using namespace tern;
using namespace tern::distributed;

namespace {

double seconds_of(const Tensor& x, const Group& group, int calls) {
  barrier({.group = group});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) all_reduce(x, {.group = group});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, size = 2, repeats = 5;
  double budget = 0.1;
  std::string folder;
  std::vector<int64_t> bytes;
  CLI::App app("All-reduce, one rank");
  app.add_option("--rank", rank);
  app.add_option("--size", size);
  app.add_option("--folder", folder, "where the ranks meet")->required();
  app.add_option("--bytes", bytes)->required();
  app.add_option("--repeats", repeats);
  app.add_option("--budget", budget, "seconds for each repeat");
  CLI11_PARSE(app, argc, argv);
  const Group group = make_process_group("gloo", file_store(folder + "/store", size), rank, size);
  for (const int64_t count : bytes) {
    const Tensor x = zeros({count / 4});
    seconds_of(x, group, 3);
    const Tensor calls = full({1}, std::max(1.0, budget / (seconds_of(x, group, 3) / 3)));
    broadcast(calls, 0, {.group = group});
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      const int n = static_cast<int>(calls.item<float>());
      times.push_back(seconds_of(x, group, n) / n);
    }
    std::sort(times.begin(), times.end());
    if (rank == 0)
      fmt::print("{{\"bytes\":{},\"microseconds\":{:.3f}}}\n", count, times[times.size() / 2] * 1e6);
  }
}
