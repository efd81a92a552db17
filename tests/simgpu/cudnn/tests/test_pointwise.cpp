// Pointwise operations, reductions and products of matrices against formulas written anew.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace drive;

namespace {

const Sizes image = {2, 3, 2, 4};

TensorOptions last(const Sizes& dims, cudnnDataType_t dtype = CUDNN_DATA_FLOAT, bool is_virtual = false) {
  return {.strides = channels_last(dims), .dtype = dtype, .is_virtual = is_virtual};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct Formula {
  cudnnPointwiseMode_t mode;
  std::function<double(double)> value;
  PointwiseOptions options = {};
};

const std::vector<Formula>& unary_formulas() {
  static const std::vector<Formula> all = {
      {CUDNN_POINTWISE_ABS, [](double x) { return std::fabs(x); }},
      {CUDNN_POINTWISE_CEIL, [](double x) { return std::ceil(x); }},
      {CUDNN_POINTWISE_COS, [](double x) { return std::cos(x); }},
      {CUDNN_POINTWISE_EXP, [](double x) { return std::exp(x); }},
      {CUDNN_POINTWISE_FLOOR, [](double x) { return std::floor(x); }},
      {CUDNN_POINTWISE_LOG, [](double x) { return std::log(x); }},
      {CUDNN_POINTWISE_NEG, [](double x) { return 0 - x; }},
      {CUDNN_POINTWISE_RSQRT, [](double x) { return std::pow(x, -0.5); }},
      {CUDNN_POINTWISE_SIN, [](double x) { return std::sin(x); }},
      {CUDNN_POINTWISE_SQRT, [](double x) { return std::sqrt(x); }},
      {CUDNN_POINTWISE_TAN, [](double x) { return std::tan(x); }},
      {CUDNN_POINTWISE_ERF, [](double x) { return std::erf(x); }},
      {CUDNN_POINTWISE_IDENTITY, [](double x) { return x; }},
      {CUDNN_POINTWISE_RECIPROCAL, [](double x) { return 1 / x; }},
      {CUDNN_POINTWISE_RELU_FWD, [](double x) { return x > 0 ? x : 0; }},
      {CUDNN_POINTWISE_RELU_FWD,
       [](double x) { return x < -1  ? -1 + 0.25 * (x + 1)
                             : x > 1 ? 1
                                     : x; },
       {.numbers = {{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, -1},
                    {CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 1},
                    {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.25}}}},
      {CUDNN_POINTWISE_TANH_FWD, [](double x) { return std::tanh(x); }},
      {CUDNN_POINTWISE_SIGMOID_FWD, logistic},
      {CUDNN_POINTWISE_ELU_FWD,
       [](double x) { return x > 0 ? x : 0.5 * (std::exp(x) - 1); },
       {.numbers = {{CUDNN_ATTR_POINTWISE_ELU_ALPHA, 0.5}}}},
      {CUDNN_POINTWISE_GELU_FWD, gelu},
      {CUDNN_POINTWISE_SOFTPLUS_FWD,
       [](double x) { return std::log(1 + std::exp(2 * x)) / 2; },
       {.numbers = {{CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 2}}}},
      {CUDNN_POINTWISE_SWISH_FWD,
       [](double x) { return x * logistic(3 * x); },
       {.numbers = {{CUDNN_ATTR_POINTWISE_SWISH_BETA, 3}}}},
      {CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, gelu_tanh}};
  return all;
}

/// The slope of a function, from both sides.
double slope(const std::function<double(double)>& f, double x) { return (f(x + 1e-5) - f(x - 1e-5)) / 2e-5; }

}  // namespace

TEST_CASE("functions of one tensor") {
  for (const Formula& formula : unary_formulas()) {
    CAPTURE(static_cast<int>(formula.mode));
    const Tensor x(1, image, last(image)), y(2, image, last(image));
    Graph graph;
    graph.pointwise(formula.mode, {.x = &x, .y = &y}, formula.options);
    Numbers numbers = random_numbers(x), expected;
    if (formula.mode == CUDNN_POINTWISE_LOG || formula.mode == CUDNN_POINTWISE_RSQRT ||
        formula.mode == CUDNN_POINTWISE_SQRT) {
      for (double& number : numbers) number = std::fabs(number) + 0.125;
    }
    numbers = as_stored(x, numbers);
    for (const double number : numbers) expected.push_back(formula.value(number));
    Run run;
    CHECK(difference(run.input(x, numbers).output(y).execute(graph).get(y), expected, CUDNN_DATA_FLOAT) ==
          "");
  }
}

TEST_CASE("backward passes of activations are the slope times the gradient") {
  const std::pair<cudnnPointwiseMode_t, cudnnPointwiseMode_t> pairs[] = {
      {CUDNN_POINTWISE_RELU_BWD, CUDNN_POINTWISE_RELU_FWD},
      {CUDNN_POINTWISE_TANH_BWD, CUDNN_POINTWISE_TANH_FWD},
      {CUDNN_POINTWISE_SIGMOID_BWD, CUDNN_POINTWISE_SIGMOID_FWD},
      {CUDNN_POINTWISE_ELU_BWD, CUDNN_POINTWISE_ELU_FWD},
      {CUDNN_POINTWISE_GELU_BWD, CUDNN_POINTWISE_GELU_FWD},
      {CUDNN_POINTWISE_SOFTPLUS_BWD, CUDNN_POINTWISE_SOFTPLUS_FWD},
      {CUDNN_POINTWISE_SWISH_BWD, CUDNN_POINTWISE_SWISH_FWD},
      {CUDNN_POINTWISE_GELU_APPROX_TANH_BWD, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD}};
  for (const auto& [backward, forward] : pairs) {
    for (const Formula& formula : unary_formulas()) {
      if (formula.mode != forward) continue;
      const int number = static_cast<int>(backward);
      CAPTURE(number);
      const Tensor x(1, image, last(image)), dy(2, image, last(image)), dx(3, image, last(image));
      Graph graph;
      graph.pointwise(backward, {.x = &x, .dy = &dy, .dx = &dx}, formula.options);
      Run run;
      const Numbers at = random_numbers(x), gradient = random_numbers(dy);
      const Numbers got = run.input(x, at).input(dy, gradient).output(dx).execute(graph).get(dx);
      for (size_t i = 0; i < got.size(); i++) {
        CHECK(got[i] == doctest::Approx(gradient[i] * slope(formula.value, at[i])).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("functions of two tensors, one of them broadcast, in every type") {
  const std::pair<cudnnPointwiseMode_t, double (*)(double, double)> formulas[] = {
      {CUDNN_POINTWISE_ADD, [](double a, double b) { return a + b; }},
      {CUDNN_POINTWISE_ADD_SQUARE, [](double a, double b) { return a + b * b; }},
      {CUDNN_POINTWISE_DIV, [](double a, double b) { return a / b; }},
      {CUDNN_POINTWISE_MAX, [](double a, double b) { return a > b ? a : b; }},
      {CUDNN_POINTWISE_MIN, [](double a, double b) { return a < b ? a : b; }},
      {CUDNN_POINTWISE_MOD, [](double a, double b) { return a - b * std::trunc(a / b); }},
      {CUDNN_POINTWISE_MUL, [](double a, double b) { return a * b; }},
      {CUDNN_POINTWISE_SUB, [](double a, double b) { return a - b; }},
      {CUDNN_POINTWISE_ATAN2, [](double a, double b) { return std::atan2(a, b); }}};
  for (const auto& [mode, formula] : formulas) {
    for (const cudnnDataType_t type :
         {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_DOUBLE}) {
      const int number = static_cast<int>(mode);
      CAPTURE(number);
      const Sizes channel = {1, 3, 1, 1};
      const Tensor x(1, image, last(image, type)), b(2, channel, last(channel, type)),
          y(3, image, last(image, type));
      Graph graph;
      graph.pointwise(mode, {.x = &x, .b = &b, .y = &y});
      Numbers expected;
      for (size_t i = 0; i < 48; i++)
        expected.push_back(formula(random_numbers(x)[i], random_numbers(b)[i / 8 % 3]));
      Run run;
      run.input(x, random_numbers(x)).input(b, random_numbers(b)).output(y).execute(graph);
      CHECK(difference(run.get(y), expected, type) == "");
    }
  }
}

TEST_CASE("comparisons and logic are boolean; a selection reads them") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Sizes dims = {1, 4, 1, 1};
  const auto compare = [&](cudnnPointwiseMode_t mode) {
    const Tensor a(1, dims, last(dims)), b(2, dims, last(dims)), y(3, dims, last(dims, CUDNN_DATA_BOOLEAN));
    Graph graph;
    graph.pointwise(mode, {.x = &a, .b = &b, .y = &y});
    Run run;
    return run.input(a, {1, 2, 3, nan}).input(b, {2, 2, 2, nan}).output(y).execute(graph).get(y);
  };
  CHECK(compare(CUDNN_POINTWISE_CMP_EQ) == Numbers{0, 1, 0, 0});
  CHECK(compare(CUDNN_POINTWISE_CMP_NEQ) == Numbers{1, 0, 1, 1});
  CHECK(compare(CUDNN_POINTWISE_CMP_GT) == Numbers{0, 0, 1, 0});
  CHECK(compare(CUDNN_POINTWISE_CMP_GE) == Numbers{0, 1, 1, 0});
  CHECK(compare(CUDNN_POINTWISE_CMP_LT) == Numbers{1, 0, 0, 0});
  CHECK(compare(CUDNN_POINTWISE_CMP_LE) == Numbers{1, 1, 0, 0});
  const auto logic = [&](cudnnPointwiseMode_t mode) {
    const auto boolean = last(dims, CUDNN_DATA_BOOLEAN);
    const Tensor a(1, dims, boolean), b(2, dims, boolean), y(3, dims, boolean);
    Graph graph;
    const bool two = mode != CUDNN_POINTWISE_LOGICAL_NOT;
    graph.pointwise(mode, {.x = &a, .b = two ? &b : nullptr, .y = &y}, {.compute = CUDNN_DATA_BOOLEAN});
    Run run;
    run.input(a, {0, 0, 1, 1}).output(y);
    if (two) run.input(b, {0, 1, 0, 1});
    return run.execute(graph).get(y);
  };
  CHECK(logic(CUDNN_POINTWISE_LOGICAL_AND) == Numbers{0, 0, 0, 1});
  CHECK(logic(CUDNN_POINTWISE_LOGICAL_OR) == Numbers{0, 1, 1, 1});
  CHECK(logic(CUDNN_POINTWISE_LOGICAL_NOT) == Numbers{1, 1, 0, 0});
  const Tensor a(1, dims, last(dims)), b(2, dims, last(dims)), t(4, dims, last(dims, CUDNN_DATA_BOOLEAN));
  const Tensor y(3, dims, last(dims));
  Graph graph;
  graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {.x = &a, .b = &b, .t = &t, .y = &y});
  Run run;
  run.input(a, {1, 2, 3, 4}).input(b, {5, 6, 7, 8}).input(t, {1, 0, 0, 1}).output(y);
  CHECK(run.execute(graph).get(y) == Numbers{1, 6, 7, 4});
}

TEST_CASE("a chain of operations rounds what is virtual to its own type only") {
  const Sizes dims = {1, 8, 1, 1};
  const auto chain = [&](cudnnDataType_t hidden) {
    const Tensor x(1, dims, last(dims)), small(2, dims, last(dims)), sum(3, dims, last(dims, hidden, true));
    const Tensor y(4, dims, last(dims));
    Graph graph;
    graph.pointwise(CUDNN_POINTWISE_SUB, {.x = &sum, .b = &x, .y = &y});  // in any order
    graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &x, .b = &small, .y = &sum});
    Run run;
    run.input(x, Numbers(8, 1)).input(small, Numbers(8, 0x1p-12)).output(y);
    return run.execute(graph).get(y)[0];
  };
  CHECK(chain(CUDNN_DATA_FLOAT) == 0x1p-12);
  CHECK(chain(CUDNN_DATA_HALF) == 0);
}

TEST_CASE("alphas scale the inputs, an index tells where an element is") {
  const Tensor x(1, image, last(image)), b(2, image, last(image)), y(3, image, last(image));
  Graph graph;
  graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &x, .b = &b, .y = &y}, {.alpha1 = 2.F, .alpha2 = -1.F});
  Run run;
  run.input(x, Numbers(48, 3)).input(b, Numbers(48, 4)).output(y).execute(graph);
  CHECK(run.get(y) == Numbers(48, 2));
  Graph indices;
  indices.pointwise(CUDNN_POINTWISE_GEN_INDEX, {.x = &x, .y = &y}, {.axis = 3});
  Run second;
  second.output(x).output(y).execute(indices);  // x gives its sizes only
  for (size_t i = 0; i < 48; i++) CHECK(second.get(y)[i] == static_cast<double>(i % 4));
}

TEST_CASE("reductions of channels and of all") {
  const std::pair<cudnnReduceTensorOp_t, double (*)(double, double)> modes[] = {
      {CUDNN_REDUCE_TENSOR_ADD, [](double a, double b) { return a + b; }},
      {CUDNN_REDUCE_TENSOR_MAX, [](double a, double b) { return a > b ? a : b; }},
      {CUDNN_REDUCE_TENSOR_MIN, [](double a, double b) { return a < b ? a : b; }},
      {CUDNN_REDUCE_TENSOR_AMAX, [](double a, double b) { return std::max(std::fabs(a), std::fabs(b)); }}};
  for (const auto& [mode, combine] : modes) {
    for (const int64_t channels : {int64_t{3}, int64_t{1}}) {
      const Tensor x(1, image, last(image, CUDNN_DATA_HALF)),
          y(2, {1, channels, 1, 1}, last({1, channels, 1, 1}));
      Graph graph;
      graph.reduction(mode, x, y);
      const Numbers numbers = random_numbers(x);
      Numbers expected(static_cast<size_t>(channels), mode == CUDNN_REDUCE_TENSOR_MIN   ? 9
                                                      : mode == CUDNN_REDUCE_TENSOR_MAX ? -9
                                                                                        : 0);
      for (size_t i = 0; i < 48; i++) {
        double& to = expected[channels == 3 ? i / 8 % 3 : 0];
        to = combine(to, numbers[i]);
      }
      Run run;
      CHECK(difference(run.input(x, numbers).output(y).execute(graph).get(y), expected, CUDNN_DATA_FLOAT) ==
            "");
    }
  }
}

TEST_CASE("products of matrices: batches, broadcasts, transposes, types, bias and gelu") {
  struct Case {
    Sizes a, b;
    bool turned;
    cudnnDataType_t in, out;
  };
  const Case cases[] = {{{3, 4, 5}, {3, 5, 6}, false, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT},
                        {{1, 4, 5}, {3, 5, 6}, true, CUDNN_DATA_HALF, CUDNN_DATA_HALF},
                        {{3, 4, 5}, {1, 5, 6}, false, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT},
                        {{1, 1, 64}, {1, 64, 1}, false, CUDNN_DATA_HALF, CUDNN_DATA_FLOAT}};
  for (const Case& c : cases) {
    const int64_t batch = std::max(c.a[0], c.b[0]), m = c.a[1], k = c.a[2], n = c.b[2];
    const Tensor a(1, c.a, {.dtype = c.in});
    const Tensor b(2, c.b, {.strides = c.turned ? Sizes{k * n, 1, k} : rows(c.b), .dtype = c.in});
    const Tensor raw(4, {batch, m, n}, {.is_virtual = true}), sum(5, {batch, m, n}, {.is_virtual = true});
    const Tensor bias(6, {1, 1, n}, {.dtype = c.out}), y(3, {batch, m, n}, {.dtype = c.out});
    Graph graph;
    graph.matmul(a, b, raw);
    graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = &sum});
    graph.pointwise(CUDNN_POINTWISE_GELU_FWD, {.x = &sum, .y = &y});
    const auto eighths = [](Numbers numbers) {  // whose sums are exact
      for (double& number : numbers) number = std::round(number * 8) / 8;
      return numbers;
    };
    const Numbers na = eighths(random_numbers(a)), nb = eighths(random_numbers(b)),
                  nbias = eighths(random_numbers(bias));
    Numbers expected;
    for (int64_t at = 0; at < batch * m * n; at++) {
      double total = 0;
      for (int64_t i = 0; i < k; i++) {
        const int64_t ia = (at / (m * n) % c.a[0] * m + at / n % m) * k + i;
        const int64_t ib = (at / (m * n) % c.b[0] * k + i) * n + at % n;
        total += na[static_cast<size_t>(ia)] * nb[static_cast<size_t>(ib)];
      }
      expected.push_back(gelu(total + nbias[static_cast<size_t>(at % n)]));
    }
    Run run;
    run.input(a, na).input(b, nb).input(bias, nbias).output(y).execute(graph);
    CHECK(difference(run.get(y), expected, c.out) == "");
  }
}
