// Initial values: bounds, moments, and where the numbers come from.
#include <tern/core/random.h>
#include <tern/kernels/creation.h>
#include <tern/nn/conv.h>
#include <tern/nn/init.h>
#include <tern/nn/linear.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

struct Moments {
  double low, high, mean, variance;
};

Moments moments(const Tensor& x) {
  const std::vector<double> values = values_of(x);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Moments m{*low, *high, 0, 0};
  for (const double value : values) m.mean += value / static_cast<double>(values.size());
  for (const double value : values)
    m.variance += (value - m.mean) * (value - m.mean) / static_cast<double>(values.size());
  return m;
}

// Values of U(-bound, bound): inside, near both ends, with its mean and variance. For some thousand values.
void check_uniform(const Tensor& x, double bound) {
  const Moments m = moments(x);
  CAPTURE(bound);
  CHECK(m.low >= -bound);
  CHECK(m.high <= bound);
  CHECK(m.low < -0.98 * bound);
  CHECK(m.high > 0.98 * bound);
  CHECK(std::abs(m.mean) < 0.05 * bound);
  CHECK(m.variance == doctest::Approx(bound * bound / 3).epsilon(0.05));
}

}  // namespace

TEST_CASE("Linear and Conv2d start from U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)), biases too") {
  manual_seed(1);
  const nn::Linear linear(100, 4000);
  check_uniform(linear.weight, 0.1);
  check_uniform(linear.bias, 0.1);
  const nn::Conv2d conv(8, 4000, {5, 10}, {.groups = 2});
  check_uniform(conv.weight, 1 / std::sqrt(200.0));
  check_uniform(conv.bias, 1 / std::sqrt(200.0));
  for (const Tensor& p : {linear.weight, linear.bias, conv.weight, conv.bias}) {
    CHECK(p.requires_grad());
    CHECK(p.is_leaf());
    CHECK(p.dtype() == float32);
  }
}

TEST_CASE("layers without inputs start from zero") {
  CHECK(values_of(nn::init::default_parameter({3}, 0)) == std::vector<double>{0, 0, 0});
}

TEST_CASE("kaiming_uniform_") {
  const Tensor weight = empty({50, 8, 3, 4});
  nn::init::kaiming_uniform_(weight);
  check_uniform(weight, std::sqrt(6.0 / 96));
  // PyTorch's start of Linear is this with a = sqrt(5).
  nn::init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  check_uniform(weight, 1 / std::sqrt(96.0));
  CHECK(fails_with("at least 2 dimensions, got [3]", [] { nn::init::kaiming_uniform_(empty({3})); }));
}

TEST_CASE("kaiming_normal_, xavier_uniform_ and xavier_normal_ take their fans and gains") {
  const auto is_normal = [](const Tensor& x, double std) {
    const Moments m = moments(x);
    CHECK(std::abs(m.mean) < 0.05 * std);
    CHECK(m.variance == doctest::Approx(std * std).epsilon(0.06));
    CHECK(m.high > 3 * std);
  };
  const Tensor weight = empty({50, 8, 3, 4});
  nn::init::kaiming_normal_(weight);
  is_normal(weight, std::sqrt(2.0 / 96));
  nn::init::kaiming_normal_(
      weight, {.mode = nn::init::FanMode::fan_out, .nonlinearity = nn::init::Nonlinearity::tanh});
  is_normal(weight, 5 / 3.0 / std::sqrt(600.0));
  nn::init::xavier_normal_(weight, 2);
  is_normal(weight, 2 * std::sqrt(2.0 / 696));
  nn::init::xavier_uniform_(weight);
  check_uniform(weight, std::sqrt(6.0 / 696));
  nn::init::kaiming_uniform_(weight, {.nonlinearity = nn::init::Nonlinearity::linear});
  check_uniform(weight, std::sqrt(3.0 / 96));
  nn::init::xavier_uniform_(empty({0, 0}));
}

TEST_CASE("calculate_gain") {
  using nn::init::Nonlinearity;
  CHECK(nn::init::calculate_gain(Nonlinearity::linear) == 1);
  CHECK(nn::init::calculate_gain(Nonlinearity::sigmoid) == 1);
  CHECK(nn::init::calculate_gain(Nonlinearity::tanh) == doctest::Approx(5.0 / 3));
  CHECK(nn::init::calculate_gain(Nonlinearity::relu) == doctest::Approx(std::sqrt(2.0)));
  CHECK(nn::init::calculate_gain(Nonlinearity::leaky_relu) == doctest::Approx(std::sqrt(2 / 1.0001)));
  CHECK(nn::init::calculate_gain(Nonlinearity::leaky_relu, 2) == doctest::Approx(std::sqrt(0.4)));
  CHECK(nn::init::calculate_gain(Nonlinearity::selu) == 0.75);
  CHECK(fails_with("only leaky_relu has a slope", [] { nn::init::calculate_gain(Nonlinearity::relu, 0.1); }));
}

TEST_CASE("trunc_normal_ has the moments of what lies between its bounds, far out too") {
  // Mean and variance of the standard normal distribution between the bounds, from its density there.
  const auto check_bounds = [](double mean, double std, double low, double high) {
    double mass = 0, first = 0, second = 0;
    for (int i = 0; i < 100000; ++i) {
      const double x = low + (high - low) * (i + 0.5) / 100000, z = (x - mean) / std;
      const double nearest = std::clamp(mean, low, high) - mean;
      const double density = std::exp((nearest / std * nearest / std - z * z) / 2);
      mass += density, first += x * density, second += x * x * density;
    }
    const double expected = first / mass, variance = second / mass - expected * expected;
    const Tensor x = empty({100, 200}, float64);
    nn::init::trunc_normal_(x, mean, std, low, high);
    const Moments m = moments(x);
    CHECK(m.low >= low);
    CHECK(m.high <= high);
    CHECK(std::abs(m.mean - expected) < 5 * std::sqrt(variance / 20000));
    CHECK(m.variance == doctest::Approx(variance).epsilon(0.08));
  };
  manual_seed(2);
  check_bounds(0, 1, -2, 2);
  check_bounds(1, 0.5, 0.8, 3);
  check_bounds(-3, 2, -3.5, 10);
  check_bounds(0, 1, 9, 10);
  check_bounds(0, 1, -10, -9);
  check_bounds(0, 1, -30, 30);
  const Tensor half = laid_out(empty({4, 3}, float16), Lay::reversed);
  nn::init::trunc_normal_(half, 0, 0.02);
  CHECK(moments(half).high < 0.1);
  CHECK(
      fails_with("trunc_normal_: std must be above 0, got 0", [&] { nn::init::trunc_normal_(half, 0, 0); }));
  CHECK(fails_with("needs low < high, got 2 and 1", [&] { nn::init::trunc_normal_(half, 0, 1, 2, 1); }));
}

TEST_CASE("orthogonal_ gives orthonormal rows, or columns where there are fewer") {
  const auto off = [](const Tensor& weight, double gain) {
    const int64_t rows = weight.size(0), columns = weight.numel() / rows;
    const std::vector<double> w = values_of(weight);
    const auto at = [&](int64_t i, int64_t k) {
      return w[static_cast<size_t>(rows <= columns ? i * columns + k : k * columns + i)];
    };
    double worst = 0;
    for (int64_t i = 0; i < std::min(rows, columns); ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (int64_t k = 0; k < std::max(rows, columns); ++k) product += at(i, k) * at(j, k);
        worst = std::max(worst, std::abs(product - (i == j ? gain * gain : 0)));
      }
    }
    return worst;
  };
  manual_seed(3);
  for (const Shape& shape :
       {Shape{7, 7}, Shape{1, 1}, Shape{3, 40}, Shape{40, 3}, Shape{60, 60}, Shape{6, 2, 3, 4}}) {
    const Tensor x = empty(shape, float64);
    nn::init::orthogonal_(x);
    CHECK(off(x, 1) < 1e-13);
    nn::init::orthogonal_(x, 3);
    CHECK(off(x, 3) < 1e-12);
  }
  const Tensor x = laid_out(empty({5, 9}), Lay::sliced).requires_grad_();
  nn::init::orthogonal_(x);
  CHECK(off(x.detach(), 1) < 1e-6);
  CHECK(x.is_leaf());
  // Both signs are as likely, on the diagonal too.
  int positive = 0;
  for (int i = 0; i < 400; ++i) {
    nn::init::orthogonal_(x);
    positive += x.detach().data<float>()[0] > 0;
  }
  CHECK(std::abs(positive - 200) < 50);
  nn::init::orthogonal_(empty({0, 3}));
  CHECK(fails_with("orthogonal_: needs at least 2 dimensions, got [3]",
                   [] { nn::init::orthogonal_(empty({3})); }));
  CHECK(fails_with("orthogonal_: needs a floating-point tensor", [] {
    nn::init::orthogonal_(empty({3, 3}, int64));
  }));
}

TEST_CASE("eye_, ones_ and zeros_") {
  const Tensor x = laid_out(empty({2, 3}), Lay::reversed);
  nn::init::eye_(x);
  CHECK(values_of(x) == std::vector<double>{1, 0, 0, 0, 1, 0});
  nn::init::ones_(x);
  CHECK(values_of(x) == std::vector<double>(6, 1));
  nn::init::zeros_(x);
  CHECK(values_of(x) == std::vector<double>(6, 0));
  CHECK(fails_with("eye_: needs a matrix, got [3]", [] { nn::init::eye_(empty({3})); }));
}

TEST_CASE("fans count sizes 1 and 0, each times the rest") {
  const nn::init::Fans fans = nn::init::fans(empty({5, 4, 3, 2}));
  CHECK(fans.in == 24);
  CHECK(fans.out == 30);
  CHECK(nn::init::fans(empty({5, 4})).in == 4);
}

TEST_CASE("uniform_, normal_ and constant_ write in place, unrecorded and counted as a write") {
  const Tensor x = empty({100, 100}).requires_grad_();
  const uint64_t before = x.version();
  nn::init::uniform_(x, 2, 4);
  CHECK(x.is_leaf());
  CHECK(x.version() > before);
  CHECK(moments(x).low >= 2);
  CHECK(moments(x).high < 4);
  CHECK(moments(x).mean == doctest::Approx(3).epsilon(0.02));
  nn::init::normal_(x, -1, 3);
  CHECK(moments(x).mean == doctest::Approx(-1).epsilon(0.15));
  CHECK(moments(x).variance == doctest::Approx(9).epsilon(0.1));
  nn::init::constant_(x, 0.5);
  CHECK(moments(x).low == 0.5);
  CHECK(moments(x).high == 0.5);
}

TEST_CASE("one seed gives one start") {
  manual_seed(5);
  const nn::Linear a(7, 3), b(7, 3);
  manual_seed(5);
  const nn::Linear c(7, 3);
  CHECK(bits_equal(a.weight, c.weight));
  CHECK(bits_equal(a.bias, c.bias));
  CHECK_FALSE(bits_equal(a.weight, b.weight));
}

TEST_CASE("nothing starts an expanded view") {
  namespace init = nn::init;
  const Tensor one = ones({1, 3}), x = one.with_layout(one.layout().expand({3, 3}));
  for (const auto& start : std::vector<std::function<void()>>{
           [&] { init::uniform_(x); }, [&] { init::normal_(x); }, [&] { init::trunc_normal_(x); },
           [&] { init::constant_(x, 2); }, [&] { init::ones_(x); }, [&] { init::zeros_(x); },
           [&] { init::eye_(x); }, [&] { init::xavier_uniform_(x); }, [&] { init::xavier_normal_(x); },
           [&] { init::kaiming_uniform_(x); }, [&] { init::kaiming_normal_(x); },
           [&] { init::orthogonal_(x); }}) {
    CHECK(fails_with("clone() first", start));
    CHECK(values_of(one) == std::vector<double>{1, 1, 1});
  }
}
