// cifar10.cpp on several processes, which ternrun starts, and again from the checkpoint after a failure.
#include <tern/tern.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <optional>

using namespace tern;
using namespace tern::distributed;

struct Options {
  std::string dataset = "cifar10", data = ".", device = "cpu", log, checkpoint, resume;
  bool download = false;
  int local_rank = get_local_rank(), epochs = 10, batch_size = 128, workers = 2, threads = get_num_threads();
  uint64_t seed = 0;
  double lr = 0.01, momentum = 0.9;
};

void add_options(CLI::App& app, Options& o) {
  app.option_defaults()->always_capture_default();
  app.add_option("--dataset", o.dataset, "Which images")->check(CLI::IsMember({"cifar10", "fashion-mnist"}));
  app.add_option("--data", o.data, "Folder with the data set's files");
  app.add_flag("--download", o.download, "Fetch CIFAR-10 into --data first, where it is not there");
  app.add_option("--local_rank,--local-rank", o.local_rank, "Which device of this machine --device cuda is");
  app.add_option("--epochs", o.epochs, "Passes over the training images")->check(train::whole_number(1));
  app.add_option("--batch-size", o.batch_size, "Images per step and process")->check(train::whole_number(1));
  app.add_option("--lr", o.lr, "Learning rate")->check(train::number());
  app.add_option("--momentum", o.momentum, "Momentum of SGD")->check(train::number());
  app.add_option("--workers", o.workers, "Threads that load batches ahead")->check(train::whole_number());
  app.add_option("--seed", o.seed, "Seed of weights and order")->check(train::whole_number());
  app.add_option("--threads", o.threads, "Threads that compute")->check(train::whole_number(1, 1024));
  app.add_option("--device", o.device, "cpu, cpu:N, cuda or cuda:N");
  app.add_option("--log", o.log, "Write an object per epoch to this file (JSON lines)");
  app.add_option("--checkpoint", o.checkpoint, "Write the run's state to this file after each epoch");
  app.add_option("--resume", o.resume, "Go on from this checkpoint");
}

// 32x32 images with three channels, values from -1 to 1, whatever the data set.
data::ImageDataset load_images(const Options& o, bool train) {
  data::Normalize normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F});
  if (o.dataset == "cifar10") return data::cifar10(o.data, {train, {data::ToTensor(), normalize}});
  return data::mnist(o.data, {train, {data::Pad(2), data::RepeatChannel(3), data::ToTensor(), normalize}});
}

nn::Sequential make_model() {
  return nn::Sequential(nn::Conv2d(3, 32, 3, {.padding = 1}), nn::ReLU(),  //
                        nn::Conv2d(32, 64, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                        nn::Linear(64 * 16 * 16, 10));
}

using Loader = data::DataLoader<data::ImageDataset>;

Loader make_loader(const Options& o, bool train) {
  data::ImageDataset images = load_images(o, train);
  const auto share = std::make_shared<data::DistributedSampler>(
      images.size(), data::DistributedSamplerOptions{.shuffle = train, .seed = o.seed, .padding = train});
  return Loader(
      std::move(images),
      {.batch_size = train ? o.batch_size : 256, .sampler = share, .num_workers = o.workers, .seed = o.seed});
}

// One pass over this process's training images; returns the mean loss of all.
double train_epoch(int64_t epoch, nn::DistributedDataParallel<nn::Sequential>& model, optim::SGD& optimizer,
                   Loader& loader, Device device, train::Progress& progress) {
  nn::CrossEntropyLoss loss_function;
  train::RunningLoss running(epoch);
  model.train();
  for (auto& [images, labels] : loader) {
    optimizer.zero_grad();
    const Tensor loss = loss_function(model(to(images, device)), to(labels, device));
    running.add(loss.item<double>(), images.size(0));
    backward(loss);
    optimizer.step();
    progress.update(images.size(0) * get_world_size(), {{"loss", running.mean()}});
  }
  return global_mean(running.mean(), 1);  // all shares are equal
}

// The share of images whose class the model names.
double evaluate(nn::Sequential& model, Loader& loader, Device device) {
  const NoGradGuard no_grad;
  model.eval();
  int64_t right = 0, count = 0;
  for (auto& [images, labels] : loader) {
    right += sum(argmax(model(to(images, device)), 1) == to(labels, device)).item<int64_t>();
    count += labels.size(0);
  }
  return global_mean(static_cast<double>(right), count);
}

// What must not change when a run is resumed.
train::Notes settings(const Options& o) {
  return {{"dataset", o.dataset},
          {"batch_size", std::to_string(o.batch_size)},
          {"processes", std::to_string(get_world_size())},
          {"seed", std::to_string(o.seed)},
          {"lr", fmt::format("{}", o.lr)},  // the shortest text that is exactly this number
          {"momentum", fmt::format("{}", o.momentum)}};
}

void run(Options o) {
  if (get_restart_count() > 0 && std::filesystem::exists(o.checkpoint)) o.resume = o.checkpoint;
  set_num_threads(o.threads);
  manual_seed(o.seed);
  if (o.download && get_local_rank() == 0) data::download_cifar10(o.data);
  barrier();
  Loader train_loader = make_loader(o, true), test_loader = make_loader(o, false);
  const Device device(o.device == "cuda" ? fmt::format("cuda:{}", o.local_rank) : o.device);
  nn::Sequential net = make_model();
  net.to(device);
  nn::DistributedDataParallel model(net);
  optim::SGD optimizer(model.parameters(), {.lr = o.lr, .momentum = o.momentum});
  int64_t first_epoch = 0;
  if (!o.resume.empty()) {
    const train::Notes notes = train::load_checkpoint(o.resume, net, optimizer);
    train::check_settings(o.resume, notes, settings(o));
    first_epoch = train::noted_count(o.resume, notes, "epoch");
    train_loader.set_epoch(first_epoch);
  }
  const auto save = [&](int64_t epoch) {
    train::Notes notes = settings(o);
    notes["epoch"] = std::to_string(epoch);
    if (get_rank() == 0 && !o.checkpoint.empty()) train::save_checkpoint(o.checkpoint, net, optimizer, notes);
  };
  save(first_epoch);  // a path that cannot be written shows now, not after an epoch
  std::optional<train::JsonLog> log;
  if (get_rank() == 0 && !o.log.empty()) log.emplace(o.log, !o.resume.empty());
  double accuracy = first_epoch < o.epochs ? 0 : evaluate(net, test_loader, device);
  for (int64_t epoch = first_epoch; epoch < o.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    train::Progress progress(fmt::format("epoch {}/{}", epoch + 1, o.epochs), train_loader.dataset().size(),
                             {.unit = "images", .enabled = get_rank() == 0});
    const double loss = train_epoch(epoch + 1, model, optimizer, train_loader, device, progress);
    progress.finish();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    accuracy = evaluate(net, test_loader, device);
    if (get_rank() == 0)
      train::print_line(
          fmt::format("epoch {}: train loss {:.4f}, test accuracy {:.4f}", epoch + 1, loss, accuracy));
    if (log) {
      log->write({{"epoch", epoch + 1},
                  {"train_loss", loss},
                  {"test_accuracy", accuracy},
                  {"images_per_second", static_cast<double>(train_loader.dataset().size()) / seconds.count()},
                  {"seconds", seconds.count()}});
    }
    save(epoch + 1);
  }
  if (get_rank() == 0) train::print_line(fmt::format("test accuracy {:.4f}", accuracy));
}

int main(int argc, char** argv) {
  return train::run_program([&] {
    Options options;
    CLI::App app("Trains a small CNN on CIFAR-10 or Fashion-MNIST, on several processes");
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    init_process_group();
    run(options);
    destroy_process_group();
    return 0;
  });
}
