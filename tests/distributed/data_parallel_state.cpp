// What DataParallel keeps between calls: replicas, threads, modes, memory; and its errors.
#include <tern/core/build_info.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/distributed/devices.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

using namespace tern;
using namespace tern::tests;

namespace {

// One step of SGD; returns the loss.
template <class Model>
double step(Model& model, optim::SGD& optimizer, const Tensor& x, const Tensor& target) {
  optimizer.zero_grad();
  const Tensor loss = mse_loss(model(x), target);
  backward(loss);
  optimizer.step();
  return loss.template item<double>();
}

nn::Sequential small_net() {
  manual_seed(6);
  nn::Sequential net(nn::Linear(3, 5), nn::Tanh(), nn::Linear(5, 2));
  net.to(float64);
  return net;
}

// Notes which threads run it, and fails when it is told to.
struct Noted : nn::Layer<Noted> {
  struct Notes {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    int fail_on = -1;
  };
  Tensor forward(const Tensor& x) {
    const std::lock_guard lock(notes->mutex);
    notes->threads.insert(std::this_thread::get_id());
    check(x.device().index != notes->fail_on, "Noted: told to fail");
    return x * weight;
  }
  void members(nn::Visitor& visitor) override { visitor.parameter("weight", weight); }
  Tensor weight = ones({1}).requires_grad_();
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

}  // namespace

TEST_CASE("replicas follow optimizer steps and load_state_dict") {
  nn::Sequential alone = small_net();
  nn::DataParallel parallel(clone(alone), {.device_ids = cpus(3)});
  const TensorMap start = clone(parallel).state_dict();
  optim::SGD first(alone.parameters(), {.lr = 0.1, .momentum = 0.9});
  optim::SGD second_one(parallel.parameters(), {.lr = 0.1, .momentum = 0.9});
  const Tensor x = scattered({7, 3}), target = scattered({7, 2});
  const double loss = mse_loss(parallel(x), target).item<double>();
  for (int i = 0; i < 5; ++i) {
    CHECK(step(parallel, second_one, x, target) ==
          doctest::Approx(step(alone, first, x, target)).epsilon(1e-12));
  }
  CHECK(mse_loss(parallel(x), target).item<double>() < loss);
  parallel.load_state_dict(start);
  CHECK(mse_loss(parallel(x), target).item<double>() == loss);
  CHECK(start.contains("module.0.weight"));
}

TEST_CASE("a checkpoint continues the random numbers of every device") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run"), older = folder.file("older");
  manual_seed(6);
  nn::Sequential net(nn::Linear(3, 5), nn::Dropout(0.5), nn::Linear(5, 2));
  nn::DataParallel parallel(net, {.device_ids = cpus(3)});
  optim::SGD optimizer(parallel.parameters(), {.lr = 0.1});
  const Tensor x = scattered({7, 3}, -1, 1, float32), target = scattered({7, 2}, -1, 1, float32);
  step(parallel, optimizer, x, target);
  randn({3}, float32, third);
  const RandomState unused = default_generator("cpu:4").state();
  train::save_checkpoint(path, net, optimizer, {});
  const Safetensors file = load_safetensors(path);
  CHECK(file.tensors.contains("generator.cpu:2"));
  CHECK_FALSE(file.tensors.contains("generator.cpu:4"));
  const double next = step(parallel, optimizer, x, target), last = step(parallel, optimizer, x, target);
  rand({9}, float32, "cpu:4");
  train::load_checkpoint(path, net, optimizer);
  CHECK(default_generator("cpu:4").state() == unused);
  CHECK(step(parallel, optimizer, x, target) == next);
  CHECK(step(parallel, optimizer, x, target) == last);

  // Files of earlier versions, and of runs on other devices.
  TensorMap tensors = file.tensors;
  tensors.erase("generator.cpu:1");
  tensors["generator.cpu:63"] = tensors.at("generator.cpu:2");
  save_safetensors(older, tensors);
  train::load_checkpoint(older, net, optimizer);
  CHECK(default_generator(second).state() == RandomState{6, 0});
  tensors["generator.cpu:2"] = zeros({3});
  save_safetensors(older, tensors);
  CHECK(fails_with("generator.cpu:2 is no state of a generator",
                   [&] { train::load_checkpoint(older, net, optimizer); }));
}

TEST_CASE("several threads may call one DataParallel") {
  nn::DataParallel parallel(small_net(), {.device_ids = cpus(3)});
  const Tensor x = scattered({7, 3}), wanted = parallel.module(x).detach();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) wrong += distance(parallel(x).detach(), wanted) > 1e-12;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("replicas follow dtype, device, and members that are replaced") {
  nn::DataParallel parallel(small_net(), {.device_ids = cpus(2)});
  const Tensor x = scattered({4, 3});
  const auto agrees = [&](const Tensor& input) {
    return distance(parallel(input), parallel.module(input)) < 1e-6;
  };
  CHECK(agrees(x));
  parallel.to(float32);
  CHECK(parallel(to(x, float32)).dtype() == float32);
  CHECK(agrees(to(x, float32)));
  parallel.to(float64);
  parallel.module.push_back(nn::Linear(2, 6));
  parallel.to(float64);
  CHECK(agrees(x));
  parallel.module[2] = nn::Linear(5, 2, {.bias = false});
  parallel.to(float64);
  CHECK(agrees(x));
}

TEST_CASE("train and eval of the module reach replicas that exist") {
  nn::Sequential net(nn::Dropout(0.5));
  nn::DataParallel parallel(net, {.device_ids = cpus(4)});
  const Tensor x = ones({64, 8});
  const auto zeros_in = [](const Tensor& y) { return sum(y == 0).item<int64_t>(); };
  CHECK(zeros_in(parallel(x)) > 0);
  net.eval();
  CHECK(zeros_in(parallel(x)) == 0);
  parallel.train();
  CHECK(net.is_training());
  CHECK(zeros_in(chunk(parallel(x), 4)[3]) > 0);
  parallel.module[0] = nn::Dropout(0.5);
  parallel.eval();
  CHECK(zeros_in(parallel(x)) == 0);
}

TEST_CASE("each replica's batch norm sees its own share, and the first one's statistics stay") {
  nn::BatchNorm1d norm(3);
  norm.to(float64);
  nn::BatchNorm1d other = clone(norm);
  nn::DataParallel parallel(norm, {.device_ids = cpus(2)});
  const Tensor x = scattered({7, 3});
  const Tensor y = parallel(x);
  const Tensor first = other(narrow(x, 0, 0, 4));
  CHECK(distance(narrow(y, 0, 0, 4), first) < 1e-12);
  CHECK(distance(norm.running_mean, other.running_mean) < 1e-12);
  CHECK(norm.num_batches_tracked.item<int64_t>() == 1);
  CHECK(distance(narrow(y, 0, 4, 3), clone(other)(narrow(x, 0, 4, 3))) < 1e-12);
  parallel.eval();
  CHECK(distance(parallel(x), norm(x)) < 1e-12);
  CHECK(norm.num_batches_tracked.item<int64_t>() == 1);
}

TEST_CASE("the caller's modes hold in replicas") {
  nn::DataParallel parallel(small_net(), {.device_ids = cpus(3)});
  const Tensor x = scattered({6, 3});
  {
    const NoGradGuard no_grad;
    CHECK_FALSE(parallel(x).requires_grad());
  }
  const Tensor y = parallel(x);
  CHECK(y.requires_grad());
  parallel.requires_grad_(false);
  CHECK_FALSE(parallel(x).requires_grad());
}

TEST_CASE("two forward passes may come before their backward") {
  nn::Sequential net = small_net();
  nn::DataParallel parallel(clone(net), {.device_ids = cpus(3)});
  const Tensor x = scattered({5, 3}), y = scattered({4, 3});
  backward(sum(square(parallel(x))) + sum(tanh(parallel(y))));
  backward(sum(square(net(x))) + sum(tanh(net(y))));
  const std::vector<Tensor> a = net.parameters(), b = parallel.parameters();
  for (size_t i = 0; i < a.size(); ++i) CHECK(distance(a[i].grad(), b[i].grad()) < 1e-12);
}

TEST_CASE("hooks are called once, when the gradients of all replicas have arrived") {
  nn::DataParallel parallel(small_net(), {.device_ids = cpus(3)});
  int calls = 0;
  double seen = 0;
  const Tensor bias = parallel.module.parameters().back();
  register_post_accumulate_grad_hook(bias, [&](const Tensor& leaf) {
    ++calls;
    seen = sum(leaf.grad()).item<double>();
  });
  backward(sum(parallel(scattered({6, 3}))));
  CHECK(calls == 1);
  CHECK(seen == 12);
}

TEST_CASE("threads are kept between calls, and copies have their own") {
  Noted noted;
  nn::DataParallel parallel(noted, {.device_ids = cpus(4)});
  for (int i = 0; i < 10; ++i) parallel(ones({4}));
  CHECK(noted.notes->threads.size() == 4);
  CHECK(noted.notes->threads.contains(std::this_thread::get_id()));
  nn::DataParallel copy = parallel;
  CHECK(copy.module.weight.is_same(noted.weight));
  CHECK(values_of(copy(ones({4}))) == std::vector<double>{1, 1, 1, 1});
  nn::DataParallel moved = std::move(copy);
  CHECK(values_of(moved(ones({2}))) == std::vector<double>{1, 1});
  copy = parallel;
  CHECK(values_of(copy(ones({2}))) == std::vector<double>{1, 1});
}

TEST_CASE("an error in a replica comes out with its device, and the next call works") {
  Noted noted;
  nn::DataParallel parallel(noted, {.device_ids = cpus(4)});
  for (const int bad : {0, 2, 3}) {
    noted.notes->fail_on = bad;
    CHECK(fails_with("DataParallel: replica " + std::to_string(bad) + " on cpu:" + std::to_string(bad) +
                         ": Noted(): Noted: told to fail",
                     [&] { parallel(ones({4})); }));
    noted.notes->fail_on = -1;
    CHECK(values_of(parallel(ones({4}))) == std::vector<double>{1, 1, 1, 1});
  }
}

TEST_CASE("a steady step takes no memory from the system on any device") {
  if (sanitized) return;
  manual_seed(7);
  nn::Sequential net = nn::models::cifar_cnn();
  nn::DataParallel parallel(net, {.device_ids = cpus(3)});
  optim::SGD optimizer(parallel.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Tensor images = rand({9, 3, 32, 32}), labels = randint(0, 10, {9});
  std::vector<int64_t> before(3), after(3);
  for (int i = -3; i < 3; ++i) {
    for (const Device device : cpus(3)) {
      (i <= 0 ? before : after)[static_cast<size_t>(device.index)] =
          memory_statistics(device).system_allocations;
    }
    optimizer.zero_grad();
    backward(cross_entropy(parallel(images), labels));
    optimizer.step();
  }
  for (const size_t i : {0, 1, 2}) CHECK(before[i] == after[i]);
}

TEST_CASE("what DataParallel cannot work with is an error") {
  const auto error = [](const char* part, nn::DataParallelOptions options) {
    return fails_with(part, [&] { nn::DataParallel(nn::Linear(3, 2), options)(zeros({4, 3})); });
  };
  CHECK(error("DataParallel: needs at least one device", {.device_ids = {}}));
  CHECK(error("DataParallel: device cpu:1 is there twice", {.device_ids = {second, second}}));
  CHECK(error("device cpu:8 does not exist", {.device_ids = {Device(DeviceType::cpu, 8)}}));
  CHECK(error("device cpu:8 does not exist", {.output_device = Device(DeviceType::cpu, 8)}));
  CHECK(error("the module must lie on cpu:1, the first of device_ids, but weight is on cpu:0",
              {.device_ids = {second, Device()}}));
  CHECK(error("scatter", {.dim = 2}));
  CHECK(error("scatter", {.dim = -3}));
  CHECK(nn::parallel::all_devices() == cpus(8));
  nn::DataParallel parallel(nn::Linear(3, 2), {.device_ids = cpus(2)});
  CHECK(fails_with("DataParallel: replica 0 on cpu:0: ", [&] { parallel(zeros({4, 5})); }));
}
