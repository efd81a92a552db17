// Clipping of gradients: huge, tiny and non-finite ones.
#include <tern/autograd/operators.h>
#include <tern/kernels/creation.h>
#include <tern/optim/clip.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;
using optim::clip_grad_norm_;
using optim::clip_grad_value_;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Tensor with_gradient(const Tensor& gradient) {
  const Tensor parameter = zeros(gradient.shape(), gradient.dtype()).requires_grad_();
  parameter.set_grad(gradient);
  return parameter;
}

// A parameter with this gradient of float64.
Tensor parameter(const std::vector<double>& gradient) {
  return with_gradient(tensor_of(gradient, {static_cast<int64_t>(gradient.size())}));
}

bool gradient_is(const Tensor& x, const std::vector<double>& want) {
  return distance(x.grad(), tensor_of(want, x.shape())) < 1e-6;
}

}  // namespace

TEST_CASE("norms whose squares overflow float32 are right") {
  std::vector<Tensor> parameters;
  for (int i = 0; i < 100; ++i) parameters.push_back(with_gradient(full({1}, 1e20)));
  const Tensor norm = clip_grad_norm_(parameters, 1);
  CHECK(norm.dtype() == float32);
  CHECK(norm.dim() == 0);
  CHECK(norm.item<double>() == doctest::Approx(1e21));
  for (const Tensor& p : parameters) CHECK(p.grad().item<double>() == doctest::Approx(0.1));
}

TEST_CASE("norms whose squares overflow or vanish in float64 are right") {
  for (const double size : {1e200, 1e-200, 1e300, 5e-324}) {
    const std::vector<Tensor> parameters{parameter({3 * size, 0}), parameter({-4 * size})};
    CHECK(clip_grad_norm_(parameters, infinite).item<double>() == doctest::Approx(5 * size).epsilon(1e-12));
    CHECK(clip_grad_norm_(parameters, infinite, 3).item<double>() ==
          doctest::Approx(std::cbrt(91.0) * size).epsilon(1e-12));
  }
  const std::vector<Tensor> huge{parameter({3e200}), parameter({4e200})};
  clip_grad_norm_(huge, 1);
  CHECK(gradient_is(huge[0], {0.6}));
  CHECK(gradient_is(huge[1], {0.8}));
}

TEST_CASE("gradients within the norm are left alone; the others keep their direction") {
  const Tensor a = parameter({3, 0}), b = parameter({4});
  const uint64_t version = a.grad().version();
  CHECK(clip_grad_norm_({a, b}, 5.1).item<double>() == doctest::Approx(5));
  CHECK(a.grad().version() == version);
  CHECK(clip_grad_norm_({a, b}, 1).item<double>() == doctest::Approx(5));
  CHECK(gradient_is(a, {0.6, 0}));
  CHECK(gradient_is(b, {0.8}));
  CHECK(clip_grad_norm_({a, b}, 0).item<double>() == doctest::Approx(1));
  CHECK(gradient_is(a, {0, 0}));
  CHECK(clip_grad_norm_({a, b}, 1).item<double>() == 0);
}

TEST_CASE("every norm, every dtype, every layout") {
  const Tensor x = scattered({2, 3, 4, 5}, -3, 3);
  const std::vector<double> values = values_of(x);
  for (const double p : {0.5, 1.0, 2.0, 3.0, infinite}) {
    double sum = 0, most = 0;
    for (const double v : values) sum += std::pow(std::abs(v), p), most = std::max(most, std::abs(v));
    const double expected = std::isinf(p) ? most : std::pow(sum, 1 / p);
    for (const DType dtype : {float64, float32, float16, bfloat16}) {
      for (const Lay lay : all_lays) {
        const Tensor one =
            with_gradient(laid_out(x.dtype() == dtype ? x : scattered({2, 3, 4, 5}, -3, 3, dtype), lay));
        const double tolerance = dtype == float64 ? 1e-12 : dtype == float32 ? 1e-6 : 1e-2;
        CHECK(clip_grad_norm_({one}, expected / 2, p).item<double>() ==
              doctest::Approx(expected).epsilon(tolerance));
        CHECK(distance(one.grad(), x * 0.5) < 2 * tolerance + 1e-6);
      }
    }
  }
}

TEST_CASE("half-typed gradients are scaled in float32: a norm beyond their range counts") {
  const Tensor x = with_gradient(full({10000}, 60000, float16));
  CHECK(clip_grad_norm_({x}, 600).item<double>() == doctest::Approx(6e6));
  CHECK(values_of(x.grad())[17] == doctest::Approx(6).epsilon(1e-3));
}

TEST_CASE("a norm that is not finite is an error that names the parameter, and changes nothing") {
  for (const double wrong : {infinite, -infinite, std::nan("")}) {
    for (const double p : {1.0, 2.0, infinite}) {
      const Tensor absent = ones({2}).requires_grad_(), sound = parameter({1e3}),
                   broken = parameter({1, wrong});
      const char* what = std::isnan(wrong) ? "the gradient of parameter 2 has NaN elements"
                                           : "the gradient of parameter 2 has infinite elements";
      CHECK(fails_with(what, [&] { clip_grad_norm_({absent, sound, broken}, 1, p); }));
      CHECK(gradient_is(sound, {1e3}));
      CHECK(values_of(broken.grad())[0] == 1);
      const double norm = clip_grad_norm_({absent, sound, broken}, 1, p, false).item<double>();
      CHECK(std::isnan(norm) == std::isnan(wrong));
      CHECK_FALSE(std::isfinite(norm));
      CHECK(gradient_is(sound, {1e3}));
    }
  }
  const Tensor over = parameter({1.5e308, 1.5e308});
  CHECK(fails_with("the norm of all gradients is inf", [&] { clip_grad_norm_({over}, 1); }));
}

TEST_CASE("what clipping refuses, and nothing to clip") {
  const Tensor x = parameter({1, 2});
  CHECK(fails_with("clip_grad_norm_: max_norm must not be negative, got -1",
                   [&] { clip_grad_norm_({x}, -1); }));
  CHECK(fails_with("clip_grad_norm_: max_norm", [&] { clip_grad_norm_({x}, std::nan("")); }));
  CHECK(fails_with("clip_grad_norm_: norm_type must be above 0, got 0", [&] { clip_grad_norm_({x}, 1, 0); }));
  CHECK(fails_with("clip_grad_norm_: parameter 0 is undefined", [] { clip_grad_norm_({Tensor()}, 1); }));
  CHECK(fails_with("clip_grad_value_: clip_value must not be negative", [&] { clip_grad_value_({x}, -1); }));
  CHECK(fails_with("clip_grad_value_: clip_value", [&] { clip_grad_value_({x}, std::nan("")); }));
  const Tensor row = ones({1, 3}), spread = zeros({2, 3}).requires_grad_();
  spread.set_grad(row.with_layout(row.layout().expand({2, 3})));
  CHECK(fails_with("clone() first", [&] { clip_grad_norm_({spread}, 1); }));
  CHECK(clip_grad_norm_({}, 1).item<double>() == 0);
  CHECK(clip_grad_norm_({ones({2}).requires_grad_(), with_gradient(zeros({0}))}, 1).item<double>() == 0);
}

TEST_CASE("clip_grad_value_ bounds each element; NaN stays") {
  for (const DType dtype : {float64, float32, float16, bfloat16}) {
    const Tensor x = with_gradient(tensor_of({-3, -0.5, 0, 0.25, 7, infinite, NAN}, {7}, dtype));
    clip_grad_value_({x, ones({2}).requires_grad_()}, 0.5);
    const std::vector<double> got = values_of(x.grad());
    CHECK(std::vector<double>(got.begin(), got.begin() + 6) ==
          std::vector<double>{-0.5, -0.5, 0, 0.25, 0.5, 0.5});
    CHECK(std::isnan(got[6]));
  }
}
