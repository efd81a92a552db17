#include <tern/tests/distributed/devices.h>

using namespace tern;
using namespace tern::tests;

namespace {

// The last layer's weight is the embedding's.
struct Tied : nn::Layer<Tied> {
  Tied() { head.weight = embedding.weight; }
  Tensor forward(const Tensor& ids) { return head(tanh(middle(embedding(ids)))); }
  void members(nn::Visitor& visitor) override {
    visitor.module("embedding", embedding);
    visitor.module("middle", middle);
    visitor.module("head", head);
  }
  nn::Embedding embedding{6, 4};
  nn::Linear middle{4, 4}, head{4, 6};
};

using Nested = std::pair<Tensor, std::map<std::string, std::vector<Tensor>>>;

// Three inputs, of which one may be undefined, and a plain number.
struct Many : nn::Layer<Many> {
  Nested forward(const Tensor& x, const Tensor& y, const Tensor& mask, double scale) {
    Tensor z = tanh(a(x)) + b(y) * scale;
    if (mask.defined()) z = z * mask;
    return {z, {{"both", {mean(z, 1), x * 2.0}}, {"sum", {sum(z)}}}};
  }
  void members(nn::Visitor& visitor) override {
    visitor.module("a", a);
    visitor.module("b", b);
  }
  nn::Linear a{3, 4}, b{2, 4};
};

// The results and gradients of a call: those of inputs, and of parameters.
template <class Model, class... Inputs>
std::vector<Tensor> call(Model& model, const Inputs&... inputs) {
  std::tuple<Inputs...> given(inputs...);
  nn::parallel::detail::each_tensor(given, [](Tensor& x) {
    if (x.defined() && is_floating_point(x.dtype())) x = clone(x.detach()).requires_grad_();
  });
  const auto output = std::apply(model, std::as_const(given));
  std::vector<Tensor> results;
  Tensor loss;
  nn::parallel::detail::each_tensor(output, [&](const Tensor& y) {
    const bool per_replica = y.dim() <= 1;  // perhaps: an element each, or for the module alone a single one
    const Tensor total = per_replica ? sum(y) : sum(y * upstream(y.shape(), y.dtype()));
    loss = loss.defined() ? loss + total : total;
    results.push_back(per_replica ? total.detach() : y.detach());
  });
  model.zero_grad();
  backward(loss);
  nn::parallel::detail::each_tensor(given, [&](const Tensor& x) {
    if (x.defined() && x.requires_grad()) results.push_back(x.grad());
  });
  for (const Tensor& parameter : model.parameters()) results.push_back(parameter.grad());
  return results;
}

template <class M, class... Inputs>
void check_as_alone(M module, const Inputs&... inputs) {
  module.to(float64);
  const std::vector<Tensor> alone = call(module, inputs...);
  for (const int devices : {1, 2, 3, 4, 8}) {
    CAPTURE(devices);
    nn::DataParallel parallel(clone(module), {.device_ids = cpus(devices)});
    for (int step = 0; step < 2; ++step) {
      const std::vector<Tensor> together = call(parallel, inputs...);
      REQUIRE(together.size() == alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        CAPTURE(i);
        CHECK(together[i].device() == Device());
        CHECK(distance(together[i], alone[i]) < 1e-12);
      }
    }
  }
}

}  // namespace

TEST_CASE("DataParallel gives the values and gradients of the module alone") {
  for (const int64_t samples : {1, 2, 3, 5, 9, 16}) {
    CAPTURE(samples);
    manual_seed(1);
    check_as_alone(nn::Sequential(nn::Linear(3, 5), nn::Tanh(), nn::LayerNorm(5), nn::Linear(5, 2)),
                   scattered({samples, 3}));
    check_as_alone(
        nn::Sequential(nn::Conv2d(2, 4, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(16, 3)),
        scattered({samples, 2, 6, 6}));
  }
}

TEST_CASE("tied weights stay tied in replicas") {
  manual_seed(2);
  check_as_alone(Tied(), randint(0, 6, {7, 3}));
}

TEST_CASE("a module may take several inputs and return nested outputs") {
  manual_seed(3);
  for (const int64_t samples : {5, 8}) {
    const Tensor x = scattered({samples, 3}), y = scattered({samples, 2});
    check_as_alone(Many(), x, y, scattered({samples, 4}), 0.5);
    check_as_alone(Many(), x, y, Tensor(), 2.0);
  }
}

TEST_CASE("samples may lie along another dimension") {
  struct Columns : nn::Layer<Columns> {
    Tensor forward(const Tensor& x) { return matmul(weight, x); }
    void members(nn::Visitor& visitor) override { visitor.parameter("weight", weight); }
    Tensor weight = scattered({3, 2}, -2, 2, float32).requires_grad_();
  };
  nn::DataParallel columns(Columns(), {.device_ids = cpus(3), .dim = 1});
  const Tensor x = scattered({2, 7}, -2, 2, float32);
  CHECK(distance(columns(x), columns.module(x)) < 1e-6);
}

TEST_CASE("outputs are joined on the output device") {
  const Tensor x = scattered({4, 3}, -2, 2, float32);
  for (const int devices : {1, 2}) {
    nn::DataParallel linear(nn::Linear(3, 2), {.device_ids = cpus(devices), .output_device = third});
    const Tensor y = linear(x);
    CHECK(y.device() == third);
    CHECK(distance(to(y, Device()), linear.module(x)) < 1e-6);
    backward(sum(y));
    CHECK(linear.module.weight.grad().device() == Device());
  }
}

TEST_CASE("inputs may come from any device, and the module may lie on any") {
  const Tensor x = scattered({4, 3}, -2, 2, float32);
  nn::Linear linear(3, 2);
  const Tensor y = linear(x);
  linear.to(second);
  nn::DataParallel parallel(linear, {.device_ids = {second, Device()}});
  for (const Device from : cpus(3)) {
    const Tensor z = parallel(to(x, from));
    CHECK(z.device() == second);
    CHECK(distance(to(z, Device()), y) < 1e-6);
  }
}

TEST_CASE("no samples are one empty part") {
  nn::DataParallel parallel(nn::Linear(3, 2), {.device_ids = cpus(4)});
  const Tensor y = parallel(zeros({0, 3}));
  CHECK(y.shape() == Shape{0, 2});
  backward(sum(y));
  CHECK(values_of(parallel.module.bias.grad()) == std::vector<double>{0, 0});
}

TEST_CASE("losses that replicas compute become a vector with an element each") {
  struct Loss : nn::Layer<Loss> {
    Tensor forward(const Tensor& x) { return mean(x); }
  };
  const Tensor x =
      row({1, 1, 1, 1, 3, 3});  // 4 samples and 2 on two of three devices would need other shares
  nn::DataParallel parallel(Loss(), {.device_ids = cpus(3)});
  CHECK(values_of(parallel(x)) == std::vector<double>{1, 1, 3});
  nn::DataParallel uneven(Loss(), {.device_ids = cpus(2)});
  CHECK(values_of(uneven(row({1, 1, 4}))) == std::vector<double>{1, 4});  // their mean is not that of 1, 1, 4
  nn::DataParallel alone(Loss(), {.device_ids = cpus(1)});
  CHECK(alone(x).dim() == 0);
}

TEST_CASE("without tensors every device runs the module") {
  struct Where : nn::Layer<Where> {
    Tensor forward(int64_t factor) { return weight * factor; }
    void members(nn::Visitor& visitor) override { visitor.buffer("weight", weight); }
    Tensor weight = ones({1});
  };
  nn::DataParallel parallel(Where(), {.device_ids = cpus(3)});
  CHECK(values_of(parallel(int64_t{2})) == std::vector<double>{2, 2, 2});
}

TEST_CASE("the gradient's bits depend on the number of devices alone") {
  manual_seed(4);
  nn::Sequential net(nn::Linear(20, 30), nn::Tanh(), nn::Linear(30, 5));
  const Tensor x = scattered({11, 20}, -2, 2, float32);
  nn::DataParallel parallel(net, {.device_ids = cpus(4)});
  const std::vector<Tensor> first = call(parallel, x);
  for (int i = 0; i < 20; ++i) {
    const std::vector<Tensor> again = call(parallel, x);
    for (size_t k = 0; k < first.size(); ++k) CHECK(bits_equal(first[k], again[k]));
  }
}

TEST_CASE("a checkpoint around DataParallel changes no gradient and no running statistics") {
  manual_seed(5);
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Tanh());
  net.to(float64);
  const Tensor x = scattered({6, 3});
  nn::DataParallel plain(clone(net), {.device_ids = cpus(2)}), kept(clone(net), {.device_ids = cpus(2)});
  backward(sum(plain(x) * upstream({6, 4})));
  backward(sum(checkpoint([&](const Tensor& t) { return kept(t); }, x) * upstream({6, 4})));
  const TensorMap a = plain.state_dict(), b = kept.state_dict();
  for (const auto& entry : a) {
    CAPTURE(entry.first);
    const Tensor &one = entry.second, &other = b.at(entry.first);
    CHECK(bits_equal(one, other));
    CHECK(one.grad().defined() == other.grad().defined());
    if (one.grad().defined()) CHECK(bits_equal(one.grad(), other.grad()));
  }
}

TEST_CASE("DataParallel is a sound layer") {
  nn::check_layer(nn::DataParallel(Tied(), {.device_ids = cpus(3)}), randint(0, 6, {5, 2}));
  nn::check_layer(nn::DataParallel(nn::Linear(3, 2), {.device_ids = cpus(2)}), scattered({5, 3}));
}

TEST_CASE("a module inside of a Sequential may be DataParallel") {
  nn::Sequential net(nn::Linear(3, 4), nn::DataParallel(nn::Linear(4, 4), {.device_ids = cpus(2)}),
                     nn::ReLU());
  CHECK(net(zeros({5, 3})).shape() == Shape{5, 4});
}
