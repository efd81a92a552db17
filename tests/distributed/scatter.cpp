#include <tern/tests/distributed/devices.h>

using namespace tern;
using namespace tern::tests;
using nn::parallel::gather;
using nn::parallel::scatter;

TEST_CASE("scatter divides by chunk's rule") {
  const auto rows = [](int64_t samples, int devices) {
    return rows_of(scatter(zeros({samples, 3}), cpus(devices)));
  };
  CHECK(rows(9, 8) == std::vector<int64_t>{2, 2, 2, 2, 1});
  CHECK(rows(3, 8) == std::vector<int64_t>{1, 1, 1});
  CHECK(rows(0, 8) == std::vector<int64_t>{0});
  CHECK(rows(8, 2) == std::vector<int64_t>{4, 4});
  CHECK(rows(10, 4) == std::vector<int64_t>{3, 3, 3, 1});
  CHECK(rows(5, 1) == std::vector<int64_t>{5});
  for (int64_t samples = 1; samples < 20; ++samples) {
    for (int devices = 1; devices <= 8; ++devices)
      CHECK(rows(samples, devices) == rows_of(chunk(zeros({samples, 3}), devices)));
  }
}

TEST_CASE("scatter moves each part to its device, along any dimension and from any device") {
  const Tensor x = scattered({3, 5});
  for (const int64_t dim : {0, 1, -1}) {
    for (const Device from : cpus(3)) {
      const auto parts = scatter(to(x, from), cpus(3), dim);
      std::vector<Tensor> back;
      for (size_t i = 0; i < parts.size(); ++i) {
        CHECK(parts[i].device() == cpus(3)[i]);
        back.push_back(to(parts[i], Device()));
      }
      CHECK(bits_equal(cat(back, dim), x));
    }
  }
  CHECK(scatter(x, cpus(2))[0].storage() == x.storage());
  CHECK(scatter(x, {third, Device()})[1].device() == Device());
}

TEST_CASE("scatter divides tensors inside of values and copies what else there is") {
  using Inputs =
      std::tuple<Tensor, std::vector<Tensor>, std::map<std::string, Tensor>, data::Example, int, std::string>;
  const Tensor x = scattered({4, 2}), y = scattered({4});
  const Inputs inputs{x, {x, Tensor()}, {{"y", y}}, {x, y}, 7, "text"};
  const auto parts = scatter(inputs, cpus(2));
  REQUIRE(parts.size() == 2);
  for (const auto& [tensor, list, map, example, number, text] : parts) {
    for (const Tensor& part : {tensor, list.at(0), map.at("y"), example.data, example.target}) {
      CHECK(part.size(0) == 2);
      CHECK(part.device() == tensor.device());
    }
    CHECK_FALSE(list.at(1).defined());
    CHECK(number == 7);
    CHECK(text == "text");
  }
  CHECK(std::get<0>(parts[1]).device() == second);
  CHECK(scatter(5, cpus(3)) == std::vector<int>{5, 5, 5});
  CHECK(scatter(std::vector<bool>{true}, cpus(2)).size() == 2);
}

TEST_CASE("gradients return through scatter and gather") {
  const Tensor x = scattered({5, 2}).requires_grad_();
  const auto parts = scatter(x, cpus(3));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < parts.size(); ++i) outputs.push_back(parts[i] * static_cast<double>(i + 1));
  const Tensor y = gather(outputs, second);
  CHECK(y.device() == second);
  backward(y, {.gradient = to(ones({5, 2}, float64), second)});
  CHECK(x.grad().device() == Device());
  CHECK(values_of(x.grad()) == std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2, 3, 3});
}

TEST_CASE("gather stacks what has no dimensions, an element per replica") {
  std::vector<Tensor> losses{tensor(1.0).requires_grad_(), to(tensor(3.0), second).requires_grad_()};
  const Tensor joined = gather(losses, Device());
  CHECK(values_of(joined) == std::vector<double>{1, 3});
  CHECK(mean(joined).item<double>() == 2);  // over 4 samples and 2 it is 5/3
  backward(sum(joined * to(row({2, 5}), float32)));
  CHECK(losses[0].grad().item<double>() == 2);
  CHECK(losses[1].grad().item<double>() == 5);
  CHECK(losses[1].grad().device() == second);
  CHECK(gather(std::vector<Tensor>{losses[0]}, Device()).shape() == Shape{1});
}

TEST_CASE("gather joins nested outputs of any dtype") {
  using Output = std::pair<std::map<std::string, std::vector<Tensor>>, std::tuple<Tensor, Tensor, int>>;
  std::vector<Output> outputs;
  for (const Device device : cpus(3)) {
    const auto i = static_cast<double>(device.index);
    const Tensor a = to(full({1, 2}, i, float64), device), b = to(tensor({device.index, 9}), device);
    outputs.push_back({{{"a", {a, b}}}, {a > 0.5, Tensor(), 4}});
  }
  const auto [map, rest] = gather(outputs, third);
  CHECK(values_of(to(map.at("a").at(0), Device())) == std::vector<double>{0, 0, 1, 1, 2, 2});
  CHECK(map.at("a").at(1).dtype() == int64);
  CHECK(values_of(to(map.at("a").at(1), Device())) == std::vector<double>{0, 9, 1, 9, 2, 9});
  CHECK(std::get<0>(rest).dtype() == boolean);
  CHECK(std::get<0>(rest).device() == third);
  CHECK_FALSE(std::get<1>(rest).defined());
  CHECK(std::get<2>(rest) == 4);
}

TEST_CASE("gather joins along another dimension, and empty parts") {
  const std::vector<Tensor> outputs{scattered({2, 3}), to(scattered({2, 1}), second),
                                    to(zeros({2, 0}, float64), third)};
  CHECK(gather(outputs, Device(), 1).shape() == Shape{2, 4});
  CHECK(gather(outputs, Device(), -1).shape() == Shape{2, 4});
}

TEST_CASE("what scatter cannot divide is an error") {
  const Tensor x = zeros({4, 2});
  CHECK(fails_with("scatter: needs at least one device", [&] { scatter(x, {}); }));
  CHECK(fails_with("scatter: device cpu:1 is there twice", [&] { scatter(x, {second, Device(), second}); }));
  CHECK(fails_with("device cpu:9 does not exist", [&] { scatter(x, {Device(DeviceType::cpu, 9)}); }));
  CHECK(fails_with("scatter", [&] { scatter(x, cpus(2), 2); }));
  CHECK(fails_with("scatter", [&] { scatter(x, cpus(2), -3); }));
  CHECK(fails_with("scatter: a tensor without dimensions cannot be divided",
                   [&] { scatter(tensor(1.0), cpus(2)); }));
  CHECK(fails_with("must have one size there, got shapes [4, 2] and [1, 2]", [&] {
    scatter(std::tuple(x, zeros({1, 2})), cpus(2));
  }));
}

TEST_CASE("outputs that do not fit together are an error") {
  const Tensor x = zeros({4, 2});
  CHECK(fails_with("gather: there are no outputs", [] { gather(std::vector<Tensor>(), Device()); }));
  const auto error = [&](const auto& a, const auto& b, const char* part) {
    return fails_with(part, [&] { gather(std::vector{a, b}, Device()); });
  };
  CHECK(error(x, zeros({4, 3}), "float32 of shape [4, 2] and float32 of shape [4, 3]"));
  CHECK(error(x, zeros({4}), "cannot be joined along dimension 0"));
  CHECK(error(x, zeros({4, 2}, int64), "float32 of shape [4, 2] and int64 of shape [4, 2]"));
  CHECK(error(x, Tensor(), "defined in the output of some replicas only"));
  CHECK(error(std::vector{x}, std::vector{x, x}, "returned lists of 1 and 2"));
  CHECK(error(std::map<int, Tensor>{{1, x}}, std::map<int, Tensor>{{2, x}}, "different keys"));
  CHECK(error(std::map<int, Tensor>{{1, x}}, std::map<int, Tensor>{}, "maps of 1 and 0 keys"));
  CHECK(error(std::pair(x, 1), std::pair(x, 2), "different values that are no tensors"));
  CHECK(fails_with("gather", [&] { gather(std::vector{x, x}, Device(), 2); }));
}

TEST_CASE("tensors in optional values are divided and joined") {
  using Value = std::pair<Tensor, std::optional<Tensor>>;
  const Value with{scattered({5, 2}), scattered({5})}, without{scattered({5, 2}), std::nullopt};
  const auto parts = nn::parallel::scatter(with, cpus(2));
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].second->size(0) == 2);
  CHECK(parts[1].second->device() == second);
  CHECK(bits_equal(*nn::parallel::gather(parts, "cpu:0").second, *with.second));
  CHECK_FALSE(nn::parallel::gather(nn::parallel::scatter(without, cpus(2)), "cpu:0").second.has_value());
  CHECK(fails_with("optional", [&] { nn::parallel::gather(std::vector<Value>{with, without}, "cpu:0"); }));
}
