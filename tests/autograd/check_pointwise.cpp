#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("functions of one variable") {
  check_op(
      "neg", [](const Inputs& x) { return -x[0]; }, one_input());
  check_op(
      "exp", [](const Inputs& x) { return exp(x[0]); }, one_input());
  check_op("log", [](const Inputs& x) { return log(x[0]); }, one_input(), {.low = 0.1});
  check_op("sqrt", [](const Inputs& x) { return sqrt(x[0]); }, one_input(), {.low = 0.1});
  check_op(
      "tanh", [](const Inputs& x) { return tanh(x[0]); }, one_input());
  check_op(
      "relu", [](const Inputs& x) { return relu(x[0]); }, one_input());
}

TEST_CASE("more functions of one variable") {
  check_op("abs", [](const Inputs& x) { return abs(x[0]); }, one_input(), {.low = 0.1});
  check_op(
      "square", [](const Inputs& x) { return square(x[0]); }, one_input());
  check_op("rsqrt", [](const Inputs& x) { return rsqrt(x[0]); }, one_input(), {.low = 0.3});
  check_op("reciprocal", [](const Inputs& x) { return reciprocal(x[0]); }, one_input(), {.low = 0.3});
  check_op(
      "sin", [](const Inputs& x) { return sin(x[0]); }, one_input());
  check_op(
      "cos", [](const Inputs& x) { return cos(x[0]); }, one_input());
  check_op("log1p", [](const Inputs& x) { return log1p(x[0]); }, one_input(), {.low = -0.7});
  check_op(
      "expm1", [](const Inputs& x) { return expm1(x[0]); }, one_input());
  check_op(
      "erf", [](const Inputs& x) { return erf(x[0]); }, one_input());
  check_op(
      "sigmoid", [](const Inputs& x) { return sigmoid(x[0]); }, one_input());
  check_op("sign", [](const Inputs& x) { return sign(x[0]); }, one_input(), {.jumps = true});
  check_op("round", [](const Inputs& x) { return round(x[0]); }, one_input(), {.jumps = true});
  check_op("floor", [](const Inputs& x) { return floor(x[0]); }, one_input(), {.jumps = true});
  check_op("ceil", [](const Inputs& x) { return ceil(x[0]); }, one_input(), {.jumps = true});
}

TEST_CASE("activations") {
  check_op("leaky_relu", [](const Inputs& x) { return leaky_relu(x[0], 0.2); }, one_input(), {.low = 0.1});
  check_op("leaky_relu", [](const Inputs& x) { return leaky_relu(x[0], 0.2); }, one_input(), {.high = -0.1});
  check_op(
      "elu", [](const Inputs& x) { return elu(x[0]); }, one_input());
  check_op("elu", [](const Inputs& x) { return elu(x[0], 0.5); }, one_input(), {.low = 0.1});
  check_op("elu", [](const Inputs& x) { return elu(x[0], 0.5); }, one_input(), {.high = -0.1});
  check_op(
      "gelu", [](const Inputs& x) { return gelu(x[0]); }, one_input());
  check_op(
      "gelu", [](const Inputs& x) { return gelu(x[0], GeluApproximation::tanh); }, one_input());
  check_op(
      "silu", [](const Inputs& x) { return silu(x[0]); }, one_input());
  check_op(
      "softplus", [](const Inputs& x) { return softplus(x[0]); }, one_input());
  check_op("softplus", [](const Inputs& x) { return softplus(x[0], 2, 1); }, one_input(), {.high = 0.3});
}

TEST_CASE("powers, bounds and choices") {
  check_op(
      "pow", [](const Inputs& x) { return pow(x[0], 0); }, one_input());
  check_op(
      "pow", [](const Inputs& x) { return pow(x[0], 1); }, one_input());
  check_op("pow", [](const Inputs& x) { return pow(x[0], 2); }, one_input(), {.error_names = {"square"}});
  check_op(
      "pow", [](const Inputs& x) { return pow(x[0], 3); }, one_input());
  check_op("pow", [](const Inputs& x) { return pow(x[0], -1.5); }, one_input(), {.low = 0.2});
  check_op("pow", [](const Inputs& x) { return pow(x[0], 0.5); }, one_input(),
           {.low = 0.2, .error_names = {"sqrt"}});
  check_op(
      "pow", [](const Inputs& x) { return pow(2.5, x[0]); }, one_input());
  check_op("pow", [](const Inputs& x) { return pow(x[0], x[1]); }, two_inputs(), {.low = 0.5});
  check_op("clamp", [](const Inputs& x) { return clamp(x[0], -0.5, 1.0); }, one_input(), {.jumps = true});
  check_op("clamp", [](const Inputs& x) { return clamp(x[0], {}, 0.3); }, one_input(), {.jumps = true});
  check_op("clamp", [](const Inputs& x) { return clamp(x[0], 0.1); }, one_input(), {.low = 0.2});
  const OpOptions jumps{.jumps = true};
  check_op(
      "maximum", [](const Inputs& x) { return maximum(x[0], x[1]); }, two_inputs(), jumps);
  check_op(
      "minimum", [](const Inputs& x) { return minimum(x[0], x[1]); }, two_inputs(), jumps);
  const auto positive = [](const Tensor& x) { return x.detach() > 0; };
  check_op(
      "where", [=](const Inputs& x) { return where(positive(x[0]), x[0], x[1]); }, two_inputs(), jumps);
  check_op(
      "where", [=](const Inputs& x) { return where(positive(x[1]), x[0], x[1]); }, two_inputs(), jumps);
  check_op(
      "where", [=](const Inputs& x) { return where(positive(x[0]), x[0], 2); }, one_input(), jumps);
  check_op(
      "where", [=](const Inputs& x) { return where(positive(x[0]), 2, x[0]); }, one_input(), jumps);
  check_op("masked_fill", [=](const Inputs& x) { return masked_fill(x[0], positive(x[0]), 3); }, one_input(),
           {.jumps = true, .error_names = {"where"}});
}

TEST_CASE("arithmetic of two tensors") {
  check_op(
      "add", [](const Inputs& x) { return x[0] + x[1]; }, two_inputs());
  check_op(
      "sub", [](const Inputs& x) { return x[0] - x[1]; }, two_inputs());
  check_op(
      "mul", [](const Inputs& x) { return x[0] * x[1]; }, two_inputs());
  check_op("div", [](const Inputs& x) { return x[0] / x[1]; }, two_inputs(), {.low = 0.5});
}

TEST_CASE("arithmetic with a number") {
  check_op(
      "add", [](const Inputs& x) { return x[0] + 3; }, one_input());
  check_op(
      "add", [](const Inputs& x) { return 3 + x[0]; }, one_input());
  check_op(
      "sub", [](const Inputs& x) { return x[0] - 2.5; }, one_input());
  check_op(
      "sub", [](const Inputs& x) { return 2.5 - x[0]; }, one_input());
  check_op(
      "mul", [](const Inputs& x) { return x[0] * 2.5; }, one_input());
  check_op(
      "mul", [](const Inputs& x) { return 2 * x[0]; }, one_input());
  check_op(
      "div", [](const Inputs& x) { return x[0] / 4; }, one_input());
  check_op("div", [](const Inputs& x) { return 3 / x[0]; }, one_input(), {.low = 0.5});
}

TEST_CASE("arithmetic in place") {
  const std::vector<Shapes> samples{
      {{3}, {3}},         {{17}, {17}},  {{4, 5}, {5}}, {{4, 5}, {4, 1}},
      {{2, 3, 2}, {}},    {{0, 3}, {3}}, {{}, {}},      {{2, 3, 2, 2}, {3, 1, 1}},
      {{129, 130}, {130}}};
  const auto in_place = [&](const char* name, auto change, double low) {
    const Operation operation = [change](const Inputs& x) {
      const Tensor y = clone(x[0]);
      change(y, x[1]);
      return y;
    };
    const std::string kernel(name, std::string(name).size() - 1);
    check_op(name, operation, samples, {.low = low, .error_names = {kernel.c_str()}});
  };
  in_place(
      "add_", [](const Tensor& x, const Tensor& y) { x += y; }, -2);
  in_place(
      "sub_", [](const Tensor& x, const Tensor& y) { x -= y; }, -2);
  in_place(
      "mul_", [](const Tensor& x, const Tensor& y) { x *= y; }, -2);
  in_place(
      "div_", [](const Tensor& x, const Tensor& y) { x /= y; }, 0.5);
  in_place(
      "copy_", [](const Tensor& x, const Tensor& y) { copy_(x, y); }, -2);
  in_place(
      "add_", [](const Tensor& x, const Tensor& y) { (x += 2) += y; }, -2);
  in_place(
      "mul_", [](const Tensor& x, const Tensor& y) { (x *= 2) *= y; }, -2);
  in_place(
      "sub_", [](const Tensor& x, const Tensor& y) { (x -= 2) -= y; }, -2);
  in_place(
      "div_", [](const Tensor& x, const Tensor& y) { (x /= 2) /= y; }, 0.5);
}

TEST_CASE("reductions") {
  const std::vector<Shapes> samples{{{7}},    {{3, 5}},   {{2, 3, 4}},    {{2, 3, 4, 5}}, {{1, 9}},
                                    {{9, 1}}, {{17, 33}}, {{2, 8, 5, 7}}, {{130, 131}},   {{3, 40, 150}}};
  for (const Shape& dims : {Shape{}, Shape{0}, Shape{-1}}) {
    for (const bool keep : {false, true}) {
      check_op("sum", [=](const Inputs& x) { return sum(x[0], dims, keep); }, samples, {.float32 = 1e-4});
      check_op(
          "mean", [=](const Inputs& x) { return mean(x[0], dims, keep); }, samples);
    }
  }
  const std::vector<Shapes> deep{{{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 1, 1}}, {{5, 0, 2}}, {{9, 17, 130}}};
  for (const Shape& dims : {Shape{1}, Shape{0, 2}, Shape{1, 2}, Shape{0, 1, 2}, Shape{-1, 0}}) {
    check_op("sum", [=](const Inputs& x) { return sum(x[0], dims); }, deep, {.float32 = 1e-4});
    check_op(
        "mean", [=](const Inputs& x) { return mean(x[0], dims); }, deep);
  }
  check_op("sum", [](const Inputs& x) { return sum(x[0]); }, {{{}}, {{0}}, {{0, 3}}, {{1}}, {{17000}}},
           {.float32 = 1e-4});
}

TEST_CASE("variance, norms and logsumexp") {
  const std::vector<Shapes> samples{{{7}}, {{3, 5}}, {{2, 3, 4}}, {{9, 3}}, {{17, 33}}, {{30, 131}}};
  for (const Shape& dims : {Shape{}, Shape{0}, Shape{-1}}) {
    for (const bool keep : {false, true}) {
      check_op(
          "var", [=](const Inputs& x) { return var(x[0], dims, 0, keep); }, samples);
      check_op(
          "logsumexp", [=](const Inputs& x) { return logsumexp(x[0], dims, keep); }, samples);
      check_op(
          "norm", [=](const Inputs& x) { return norm(x[0], 2, dims, keep); }, samples);
    }
  }
  const std::vector<Shapes> deep{{{2, 3, 4}}, {{3, 2, 5}}, {{4, 5, 3, 2}}};
  for (const Shape& dims : {Shape{0, 2}, Shape{1, 0}}) {
    check_op(
        "stddev", [=](const Inputs& x) { return stddev(x[0], dims); }, deep);
    check_op("norm", [=](const Inputs& x) { return norm(x[0], 3, dims); }, deep, {.low = 0.3});
    check_op(
        "var", [=](const Inputs& x) { return var(x[0], dims, 1.5, true); }, deep);
  }
  check_op("norm", [](const Inputs& x) { return norm(x[0], 1); }, deep, {.low = 0.1});
}

TEST_CASE("largest and smallest elements") {
  const OpOptions options{.jumps = true};
  const std::vector<Shapes> samples{{{1}},       {{7}},          {{17}},      {{3, 5}},
                                    {{2, 3, 4}}, {{2, 3, 4, 5}}, {{130, 131}}};
  check_op(
      "max", [](const Inputs& x) { return max(x[0]); }, samples, options);
  check_op(
      "min", [](const Inputs& x) { return min(x[0]); }, samples, options);
  for (const Shape& dims : {Shape{}, Shape{0}, Shape{-1}}) {
    check_op(
        "amax", [=](const Inputs& x) { return amax(x[0], dims); }, samples, options);
    check_op(
        "amin", [=](const Inputs& x) { return amin(x[0], dims, true); }, samples, options);
  }
  for (const int64_t dim : {0, -1}) {
    for (const bool keep : {false, true}) {
      check_op(
          "max", [=](const Inputs& x) { return max(x[0], dim, keep).values; }, samples, options);
      check_op(
          "min", [=](const Inputs& x) { return min(x[0], dim, keep).values; }, samples, options);
    }
  }
  check_op(
      "max", [](const Inputs& x) { return max(x[0], 1).values; }, {{{2, 3, 4}}, {{0, 3}}, {{5, 33, 9}}},
      options);
  check_op(
      "max", [](const Inputs& x) { return max(x[0], 0).values; }, {{{}}}, options);
}
