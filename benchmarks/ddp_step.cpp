// One rank that times steps of DistributedDataParallel: zero_grad, forward, backward, SGD step of the
// tutorial's CNN on this rank's batch; ddp_step.py starts the ranks, and times PyTorch's.
// TERN_TRACE=trace.json shows the overlap.

#include <tern/tern.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

using namespace tern;
using namespace tern::distributed;

int main(int argc, char** argv) {
  int rank = 0, size = 2, steps = 20;
  int64_t batch = 32;
  double bucket_cap_mb = 25;
  std::string folder;
  CLI::App app("A data-parallel training step, one rank");
  app.add_option("--rank", rank);
  app.add_option("--size", size);
  app.add_option("--folder", folder, "where the ranks meet")->required();
  app.add_option("--steps", steps);
  app.add_option("--batch", batch, "samples of a rank");
  app.add_option("--bucket-cap-mb", bucket_cap_mb);
  CLI11_PARSE(app, argc, argv);
  set_num_threads(1);
  const Group group = make_process_group("gloo", file_store(folder + "/store", size), rank, size);

  nn::DistributedDataParallel model(nn::models::cifar_cnn(),
                                    {.process_group = group, .bucket_cap_mb = bucket_cap_mb});
  optim::SGD optimizer(model.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Tensor images = contiguous(randn({batch, 3, 32, 32}), MemoryFormat::channels_last);
  const Tensor labels = randint(0, 10, {batch});
  std::vector<double> milliseconds;
  for (int step = 0; step < steps + 3; ++step) {
    const ProfileScope scope("step");
    const auto start = std::chrono::steady_clock::now();
    optimizer.zero_grad();
    backward(cross_entropy(model(images), labels));
    optimizer.step();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    if (step >= 3) milliseconds.push_back(passed.count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  if (rank == 0) fmt::print("{{\"median_ms\":{:.3f}}}\n", milliseconds[milliseconds.size() / 2]);
}
