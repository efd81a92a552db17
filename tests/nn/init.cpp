// Initial values: bounds, moments, and where the numbers come from.
#include <tern/core/random.h>
#include <tern/nn/conv.h>
#include <tern/nn/init.h>
#include <tern/nn/linear.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

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
  nn::init::kaiming_uniform_(weight, std::sqrt(5.0));
  check_uniform(weight, 1 / std::sqrt(96.0));
  CHECK(fails_with("at least 2 dimensions, got [3]", [] { nn::init::kaiming_uniform_(empty({3})); }));
}

TEST_CASE("xavier_uniform_") {
  const Tensor weight = empty({50, 8, 3, 4});
  nn::init::xavier_uniform_(weight, 2);
  check_uniform(weight, 2 * std::sqrt(6.0 / (96 + 600)));
  CHECK(fails_with("at least 2 dimensions, got [3]", [] { nn::init::xavier_uniform_(empty({3})); }));
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
