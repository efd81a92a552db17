#include <tern/kernels/optimizer.h>
#include <tern/tests/kernels/reference.h>

#include <array>
#include <limits>

using namespace tern;
using namespace tern::tests;
using kernels::AdamEntry;
using kernels::AdamOptions;
using kernels::SgdEntry;
using kernels::SgdOptions;

namespace {

// Parameter, gradient and up to three tensors of state, in doubles.
using Values = std::array<std::vector<double>, 5>;

Values values_of(const Tensor& p, const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& c) {
  Values result;
  const Tensor* tensors[] = {&p, &g, &a, &b, &c};
  for (size_t k = 0; k < 5; ++k) {
    if (tensors[k]->defined()) result[k] = values(*tensors[k]);
  }
  return result;
}

void reference_sgd(Values& x, const SgdOptions& o, bool first) {
  for (size_t i = 0; i < x[0].size(); ++i) {
    double& p = x[0][i];
    double g = (o.maximize ? -x[1][i] : x[1][i]) + o.weight_decay * p;
    if (o.momentum != 0) {
      double& m = x[2][i];
      m = first ? g : o.momentum * m + (1 - o.dampening) * g;
      g = o.nesterov ? g + o.momentum * m : m;
    }
    p -= o.lr * g;
  }
}

void reference_adam(Values& x, const AdamOptions& o, double step) {
  for (size_t i = 0; i < x[0].size(); ++i) {
    double& p = x[0][i];
    double g = o.maximize ? -x[1][i] : x[1][i];
    if (o.decoupled)
      p *= 1 - o.lr * o.weight_decay;
    else
      g += o.weight_decay * p;
    x[2][i] += (1 - o.beta1) * (g - x[2][i]);
    x[3][i] = o.beta2 * x[3][i] + (1 - o.beta2) * g * g;
    double square = x[3][i];
    if (o.amsgrad) square = x[4][i] = std::max(x[4][i], square);
    const double denominator = std::sqrt(square) / std::sqrt(1 - std::pow(o.beta2, step)) + o.eps;
    p -= o.lr / (1 - std::pow(o.beta1, step)) * x[2][i] / denominator;
  }
}

Tensor absolute(const Tensor& x) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    dispatch_floating(x.dtype(), "absolute", [&]<class T>() {
      x.data<T>()[i] = static_cast<T>(std::abs(static_cast<float>(x.data<T>()[i])));
    });
  }
  return x;
}

const std::vector<SgdOptions> sgd_options{
    {.lr = 0.1},
    {.lr = 0.1, .weight_decay = 0.05, .maximize = true},
    {.lr = 0.1, .momentum = 0.9},
    {.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01},
    {.lr = 0.05, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true, .maximize = true}};

const std::vector<AdamOptions> adam_options{
    {},
    {.lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1},
    {.lr = 0.01, .amsgrad = true},
    {.lr = 0.01, .weight_decay = 0.1, .maximize = true, .decoupled = false}};

const std::vector<Shape> shapes{{}, {0}, {1}, {7}, {513}, {16385}, {3, 1, 5}, {2, 3, 4, 5}};

double after_sgd_step(const SgdOptions& options, const Tensor& p, const Tensor& g, const Tensor& m,
                      bool first) {
  Values expected = values_of(p, g, m, {}, {});
  reference_sgd(expected, options, first);
  const std::array<SgdEntry, 1> entries{SgdEntry{p, g, m, first}};
  kernels::sgd_step(entries, options);
  const double error = difference(p, expected[0]);
  return m.defined() ? std::max(error, difference(m, expected[2])) : error;
}

double after_adam_step(const AdamOptions& options, const AdamEntry& e) {
  Values expected = values_of(e.parameter, e.gradient, e.mean, e.square, e.max_square);
  reference_adam(expected, options, static_cast<double>(e.step));
  kernels::adam_step({&e, 1}, options);
  const double state = std::max(difference(e.mean, expected[2]), difference(e.square, expected[3]));
  return std::max(difference(e.parameter, expected[0]), state);
}

AdamEntry random_entry(const Shape& shape, DType dtype = float32, DType state = float32) {
  return {random_tensor(shape, dtype, 1),           random_tensor(shape, dtype, 2),
          random_tensor(shape, state, 3),           absolute(random_tensor(shape, state, 4)),
          absolute(random_tensor(shape, state, 5)), 3};
}

}  // namespace

TEST_CASE("an SGD step follows the formula for every option, dtype and shape") {
  for (const SgdOptions& options : sgd_options) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      for (const Shape& shape : shapes) {
        for (const bool first : {true, false}) {
          Tensor m;
          if (options.momentum != 0) m = random_tensor(shape, dtype, 3);
          const Tensor p = random_tensor(shape, dtype, 1), g = random_tensor(shape, dtype, 2);
          CHECK(after_sgd_step(options, p, g, m, first) < tolerance(dtype));
        }
      }
    }
  }
}

TEST_CASE("an AdamW step follows the formula for every option, dtype and shape") {
  for (const AdamOptions& options : adam_options) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      for (const Shape& shape : shapes) {
        CHECK(after_adam_step(options, random_entry(shape, dtype, dtype)) < 2 * tolerance(dtype));
      }
    }
  }
}

TEST_CASE("steps of RMSprop, Adagrad and Lion follow their formulas for every dtype and shape") {
  const kernels::RmspropOptions r{.lr = 0.1, .alpha = 0.8, .eps = 1e-3, .weight_decay = 0.1, .momentum = 0.9};
  const kernels::AdagradOptions a{
      .lr = 0.1, .lr_decay = 0.5, .weight_decay = 0.1, .eps = 1e-3, .maximize = true};
  const kernels::LionOptions l{.lr = 0.1, .beta1 = 0.75, .weight_decay = 0.1};
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    for (const Shape& shape : shapes) {
      const auto fresh = [&] { return random_entry(shape, dtype, dtype); };
      const AdamEntry e = fresh(), f = fresh(), h = fresh();
      Values x = values_of(e.parameter, e.gradient, e.square, e.mean, {}), y = x, z = x;
      for (size_t i = 0; i < x[0].size(); ++i) {
        const double g = x[1][i] + 0.1 * x[0][i], u = 0.75 * x[3][i] + 0.25 * x[1][i];
        x[2][i] = 0.8 * x[2][i] + 0.2 * g * g;
        x[3][i] = 0.9 * x[3][i] + g / (std::sqrt(x[2][i]) + 1e-3);
        x[0][i] -= 0.1 * x[3][i];
        const double d = 0.1 * y[0][i] - y[1][i];
        y[2][i] += d * d;
        y[0][i] -= 0.1 / 2 * d / (std::sqrt(y[2][i]) + 1e-3);
        z[0][i] = z[0][i] * (1 - 0.1 * 0.1) - 0.1 * ((u > 0) - (u < 0));
        z[3][i] = 0.99 * z[3][i] + 0.01 * z[1][i];
      }
      const kernels::RmspropEntry one{e.parameter, e.gradient, e.square, {}, e.mean};
      kernels::rmsprop_step({&one, 1}, r);
      CHECK(std::max(difference(e.parameter, x[0]), difference(e.mean, x[3])) < 4 * tolerance(dtype));
      const kernels::AdagradEntry two{f.parameter, f.gradient, f.square, 3};
      kernels::adagrad_step({&two, 1}, a);
      CHECK(std::max(difference(f.parameter, y[0]), difference(f.square, y[2])) < 4 * tolerance(dtype));
      const kernels::LionEntry three{h.parameter, h.gradient, h.mean};
      kernels::lion_step({&three, 1}, l);
      CHECK(std::max(difference(h.parameter, z[0]), difference(h.mean, z[3])) < 4 * tolerance(dtype));
    }
  }
}

TEST_CASE("a half-typed parameter may keep float32 state") {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor p = random_tensor({700}, dtype), g = random_tensor({700}, dtype, 2);
    CHECK(after_sgd_step(sgd_options[3], p, g, random_tensor({700}), false) < tolerance(dtype));
    AdamEntry entry = random_entry({700}, dtype);
    Values expected = values_of(entry.parameter, entry.gradient, entry.mean, entry.square, {});
    reference_adam(expected, {}, 3);
    CHECK(after_adam_step({}, entry) < tolerance(dtype));
    CHECK(difference(entry.mean, expected[2]) < tolerance(float32));
  }
}

TEST_CASE("parameters, gradients and state may each lie in an order of their own") {
  const Tensor p = random_tensor({2, 3, 4, 5}, float32, 1), g = random_tensor({2, 3, 4, 5}, float32, 2),
               m = random_tensor({2, 3, 4, 5}, float32, 3);
  for (const Tensor& parameter : layouts_of(p)) {
    for (const Tensor& gradient : layouts_of(g)) {
      for (const Tensor& state : layouts_of(m)) {
        kernels::copy(p, parameter);
        kernels::copy(m, state);
        CHECK(after_sgd_step(sgd_options[4], parameter, gradient, state, false) < tolerance(float32));
      }
    }
  }
  const Tensor row = random_tensor({5});
  CHECK(after_sgd_step({.lr = 0.1}, kernels::clone(p), row.with_layout(row.layout().expand({2, 3, 4, 5})), {},
                       false) < tolerance(float32));
}

TEST_CASE("entries of several dtypes and sizes are stepped together, and absent momentum is left alone") {
  std::vector<SgdEntry> entries;
  std::vector<Values> expected;
  const SgdOptions options = sgd_options[3];
  for (int64_t i = 0; i < 40; ++i) {
    const DType dtype = i % 3 == 0 ? float64 : i % 3 == 1 ? float32 : float16;
    const Shape shape{i % 7, i * 40};
    const auto seed = static_cast<uint64_t>(i);
    entries.push_back({random_tensor(shape, dtype, seed), random_tensor(shape, dtype, seed + 1),
                       random_tensor(shape, dtype, seed + 2), i % 2 == 0});
    const SgdEntry& e = entries.back();
    reference_sgd(expected.emplace_back(values_of(e.parameter, e.gradient, e.momentum, {}, {})), options,
                  e.first_step);
  }
  const uint64_t version = entries[1].parameter.version();
  kernels::sgd_step(entries, options);
  for (size_t i = 0; i < entries.size(); ++i) {
    CHECK(difference(entries[i].parameter, expected[i][0]) < tolerance(entries[i].parameter.dtype()));
    CHECK(difference(entries[i].momentum, expected[i][2]) < tolerance(entries[i].parameter.dtype()));
  }
  CHECK(entries[1].parameter.version() == version + 1);
  kernels::sgd_step({}, options);
}

TEST_CASE("heavy ball and Nesterov momentum are not damped") {
  for (const bool nesterov : {false, true}) {
    const Tensor p = make<double>({}, {1}), g = make<double>({}, {1}), m = make<double>({}, {NAN});
    const std::vector<double> expected =
        nesterov ? std::vector<double>{0.81, 0.539, 0.1951} : std::vector<double>{0.9, 0.71, 0.439};
    for (size_t i = 0; i < 3; ++i) {
      const std::array<SgdEntry, 1> entries{SgdEntry{p, g, m, i == 0}};
      kernels::sgd_step(entries, {.lr = 0.1, .momentum = 0.9, .nesterov = nesterov});
      CHECK(p.item<double>() == doctest::Approx(expected[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("weight decay of AdamW takes each parameter's own value, with zero gradients too") {
  const Tensor a = make<double>({1}, {1}), b = make<double>({1}, {-2});
  std::vector<AdamEntry> entries;
  for (const Tensor& p : {a, b}) {
    entries.push_back({p, make<double>({1}, {0}), make<double>({1}, {0}), make<double>({1}, {0}), {}, 1});
  }
  kernels::adam_step(entries, {.lr = 0.01, .weight_decay = 1});
  CHECK(a.item<double>() == doctest::Approx(0.99).epsilon(1e-12));
  CHECK(b.item<double>() == doctest::Approx(-1.98).epsilon(1e-12));
  // Decay that goes into the gradient (Adam's L2 term, 0.1 p) moves each by lr toward 0 in the first step.
  const Tensor pair = make<double>({2}, {1, -2}), l2 = make<double>({2}, {0.1, -0.2});
  const AdamEntry entry{pair, l2, make<double>({2}, {0, 0}), make<double>({2}, {0, 0}), {}, 1};
  kernels::adam_step({&entry, 1}, {.lr = 0.01, .weight_decay = 0});
  CHECK(difference(pair, {0.99, -1.99}) < 1e-7);
}

TEST_CASE("NaN and infinite gradients reach parameters and state, and no neighbours") {
  const double inf = std::numeric_limits<double>::infinity();
  AdamEntry e = random_entry({64});
  e.gradient.data<float>()[3] = NAN, e.gradient.data<float>()[40] = INFINITY;
  const Tensor p = kernels::clone(e.parameter);
  kernels::adam_step({&e, 1}, {.amsgrad = true});
  const std::vector<double> got = values(e.parameter), largest = values(e.max_square);
  for (size_t i = 0; i < 64; ++i) CHECK(std::isnan(got[i]) == (i == 3 || i == 40));
  CHECK(std::isnan(largest[3]));
  CHECK(largest[40] == inf);
  const std::array<SgdEntry, 1> entries{SgdEntry{p, e.gradient, {}, false}};
  kernels::sgd_step(entries, {.lr = 1});
  CHECK(std::isnan(p.data<float>()[3]));
  CHECK(p.data<float>()[40] == -INFINITY);
  const Tensor endless = make<float>({1}, {INFINITY});
  const std::array<SgdEntry, 1> without_decay{SgdEntry{endless, make<float>({1}, {1}), {}, false}};
  kernels::sgd_step(without_decay, {.lr = 1});
  CHECK(endless.item<float>() == INFINITY);
}

TEST_CASE("steps have the same bits for any number of threads and for any place in memory") {
  for (const DType dtype : {float32, float64, bfloat16}) {
    CHECK(same_for_all_threads([&] {
      std::vector<AdamEntry> entries;
      for (const int64_t n : {100, 70001, 3}) entries.push_back(random_entry({n}, dtype, dtype));
      kernels::adam_step(entries, {.amsgrad = true});
      return entries[1].parameter;
    }));
    CHECK(same_for_all_threads([&] {
      const std::array<SgdEntry, 1> entries{SgdEntry{random_tensor({70001}, dtype, 1),
                                                     random_tensor({70001}, dtype, 2),
                                                     random_tensor({70001}, dtype, 3), false}};
      kernels::sgd_step(entries, sgd_options[4]);
      return entries[0].parameter;
    }));
  }
  const AdamEntry whole = random_entry({37}), parts = random_entry({37});
  kernels::adam_step({&whole, 1}, {});
  for (int64_t i = 0; i < 37; ++i) {
    const auto part = [i](const Tensor& x) { return x.with_layout(x.layout().slice(0, i, i + 1, 1)); };
    const AdamEntry entry{part(parts.parameter), part(parts.gradient),   part(parts.mean),
                          part(parts.square),    part(parts.max_square), parts.step};
    kernels::adam_step({&entry, 1}, {});
  }
  CHECK(same_bits(whole.parameter, parts.parameter));
  CHECK(same_bits(whole.square, parts.square));
}

TEST_CASE("optimizer steps refuse tensors that do not belong together, before they write") {
  const auto sgd = [](const SgdEntry& e, const SgdOptions& options = {.momentum = 0.9}) {
    return error_of([&] { kernels::sgd_step({&e, 1}, options); });
  };
  const Tensor p = random_tensor({2, 3}), g = random_tensor({2, 3}, float32, 2);
  CHECK(contains(sgd({p, {}, p}), "sgd_step: the gradient of a parameter of shape [2, 3] is undefined"));
  CHECK(contains(sgd({p, random_tensor({3, 2}), p}), "has shape [3, 2]"));
  CHECK(contains(sgd({p, random_tensor({2, 3}, float16), p}), "got float32 and float16"));
  CHECK(contains(sgd({p, g, {}}), "sgd_step: the momentum buffer of a parameter"));
  CHECK(contains(sgd({p, g, random_tensor({2, 3}, float64)}), "of dtype float32 has dtype float64"));
  CHECK(contains(sgd({random_tensor({2, 3}, int64), g, g}), "must be floating-point, got int64"));
  CHECK(contains(sgd({{}, g, g}), "a parameter is undefined"));
  const Tensor spread = g.with_layout(random_tensor({3}).layout().expand({2, 3}));
  CHECK(contains(sgd({spread, g, g}), "clone() first"));
  CHECK(sgd({p, g, g}, {}) == "no error");
  AdamEntry e = random_entry({4});
  const std::vector<double> before = values(e.parameter);
  e.step = 0;
  CHECK(contains(error_of([&] { kernels::adam_step({&e, 1}, {}); }), "adam_step: steps count from 1, got 0"));
  e.step = 1, e.max_square = {};
  CHECK(contains(error_of([&] { kernels::adam_step({&e, 1}, {.amsgrad = true}); }), "largest square"));
  CHECK(values(e.parameter) == before);
}
