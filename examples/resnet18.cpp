// Trains ResNet-18, with a stem for small images, on CIFAR-10: random crops, mirrored images, weight decay,
// and a learning rate that falls along a cosine. examples/cifar10.cpp shows logs, checkpoints and going on.
#include <tern/tern.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <numbers>

using namespace tern;

struct Options {
  std::string data = ".", device = "cpu";
  int epochs = 30, batch_size = 128, workers = 2, threads = get_num_threads();
  uint64_t seed = 0;
  double lr = 0.05, momentum = 0.9, weight_decay = 5e-4;
  bool constant_lr = false;
};

void add_options(CLI::App& app, Options& o) {
  app.option_defaults()->always_capture_default();
  app.add_option("--data", o.data, "Folder with CIFAR-10's binary files");
  app.add_option("--epochs", o.epochs, "Passes over the training images")->check(train::whole_number(1));
  app.add_option("--batch-size", o.batch_size, "Images per step")->check(train::whole_number(1));
  app.add_option("--lr", o.lr, "Learning rate of the first step")->check(train::number());
  app.add_flag("--constant-lr", o.constant_lr, "Keep that learning rate");
  app.add_option("--momentum", o.momentum, "Momentum of SGD")->check(train::number());
  app.add_option("--weight-decay", o.weight_decay, "Weight decay of SGD")->check(train::number());
  app.add_option("--workers", o.workers, "Threads that load batches ahead")->check(train::whole_number());
  app.add_option("--seed", o.seed, "Seed of weights, order and augmentation")->check(train::whole_number());
  app.add_option("--threads", o.threads, "Threads that compute")->check(train::whole_number(1, 1024));
  app.add_option("--device", o.device, "cpu, cpu:N, cuda or cuda:N");
}

data::ImageDataset load_images(const std::string& folder, bool train) {
  const data::ToTensor to_tensor;
  const data::Normalize normalize({0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F});
  if (!train) return data::cifar10(folder, {false, {to_tensor, normalize}});
  const data::RandomCrop crop(32, {.padding = 4});
  return data::cifar10(folder, {true, {crop, data::RandomHorizontalFlip(), to_tensor, normalize}});
}

using Loader = data::DataLoader<data::ImageDataset>;

double evaluate(nn::models::ResNet& model, Loader& loader, Device device) {
  const NoGradGuard no_grad;
  model.eval();
  int64_t right = 0;
  for (auto& [images, labels] : loader)
    right += sum(argmax(model(to(images, device)), 1) == to(labels, device)).item<int64_t>();
  return static_cast<double>(right) / static_cast<double>(loader.dataset().size());
}

void run(const Options& o) {
  set_num_threads(o.threads);
  manual_seed(o.seed);
  const Device device(o.device);
  Loader train_loader(
      load_images(o.data, true),
      {.batch_size = o.batch_size, .shuffle = true, .num_workers = o.workers, .seed = o.seed});
  Loader test_loader(load_images(o.data, false), {.batch_size = 256, .num_workers = o.workers});
  auto model = nn::models::resnet18({.num_classes = 10, .stem = nn::models::ResNetStem::cifar});
  model.to(device);
  optim::SGD optimizer(model.parameters(),
                       {.lr = o.lr, .momentum = o.momentum, .weight_decay = o.weight_decay});
  const int64_t images_per_epoch = train_loader.dataset().size();
  double done = 0;  // epochs, with their fractions
  for (int epoch = 1; epoch <= o.epochs; ++epoch) {
    train::Progress progress(fmt::format("epoch {}/{}", epoch, o.epochs), images_per_epoch,
                             {.unit = "images"});
    train::RunningLoss running(epoch);
    model.train();
    for (auto& [images, labels] : train_loader) {
      const double angle = std::numbers::pi * done / o.epochs;
      if (!o.constant_lr) optimizer.set_lr(o.lr * (1 + std::cos(angle)) / 2);
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(model(to(images, device)), to(labels, device));
      running.add(loss.item<double>(), images.size(0));
      backward(loss);
      optimizer.step();
      progress.update(images.size(0), {{"loss", running.mean()}});
      done += static_cast<double>(images.size(0)) / static_cast<double>(images_per_epoch);
    }
    progress.finish();
    train::print_line(fmt::format("epoch {}: train loss {:.4f}, test accuracy {:.4f}", epoch, running.mean(),
                                  evaluate(model, test_loader, device)));
  }
}

int main(int argc, char** argv) {
  return train::run_program([&] {
    Options options;
    CLI::App app("Trains ResNet-18 on CIFAR-10");
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    run(options);
    return 0;
  });
}
