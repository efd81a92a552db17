#include <tern/kernels/cross_entropy.h>
#include <tern/tests/kernels/reference.h>

using namespace tern;
using namespace tern::tests;
using kernels::CrossEntropyOptions;
using kernels::Reduction;

namespace {

// Loss (of each row, or one) and gradient for an upstream gradient of ones, in double.
struct Result {
  std::vector<double> loss, gradient;
};

Result reference(const Tensor& logits, const Tensor& target, const Tensor& weight,
                 const CrossEntropyOptions& o) {
  const std::vector<double> x = values(logits), t = values(target);
  const int64_t dim = logits.dim() == 1 ? 0 : 1, classes = logits.size(dim);
  const std::vector<double> w =
      weight.defined() ? values(weight) : std::vector<double>(static_cast<size_t>(classes), 1);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < logits.dim(); ++d) inner *= logits.size(d);
  Result result{std::vector<double>(t.size()), std::vector<double>(x.size())};
  double total = 0, divisor = 0;
  for (size_t row = 0; row < t.size(); ++row) {
    if (t[row] == static_cast<double>(o.ignore_index)) continue;
    const auto r = static_cast<int64_t>(row);
    const auto at = [&](int64_t c) {
      return static_cast<size_t>((r / inner * classes + c) * inner + r % inner);
    };
    const auto label = static_cast<int64_t>(t[row]);
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; ++c) largest = std::max(largest, x[at(c)]);
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[at(c)] - largest);
    for (int64_t c = 0; c < classes; ++c) {
      const double share =
          (c == label ? 1 - o.label_smoothing : 0) + o.label_smoothing / static_cast<double>(classes);
      const double mass = share * w[static_cast<size_t>(c)];
      result.loss[row] -= mass * (x[at(c)] - largest - std::log(sum));
      for (int64_t k = 0; k < classes; ++k) {
        result.gradient[at(k)] += mass * (std::exp(x[at(k)] - largest) / sum - (k == c ? 1 : 0));
      }
    }
    total += result.loss[row];
    divisor += w[static_cast<size_t>(label)];
  }
  if (o.reduction == Reduction::none) return result;
  const double scale = o.reduction == Reduction::mean ? 1 / divisor : 1;
  result.loss = {total * scale};
  if (std::isfinite(scale)) {
    for (double& value : result.gradient) value *= scale;
  }
  return result;
}

// What the kernels make of it.
Result computed(const Tensor& logits, const Tensor& target, const Tensor& weight,
                const CrossEntropyOptions& o) {
  const auto forward = kernels::cross_entropy_forward(logits, target, weight, o);
  const Tensor ones = empty_like(forward.loss);
  kernels::fill(ones, 1);
  const Tensor gradient = kernels::cross_entropy_backward(ones, logits, target, weight, forward, o);
  CHECK(gradient.shape() == logits.shape());
  CHECK(gradient.dtype() == logits.dtype());
  return {values(forward.loss), values(gradient)};
}

double difference(const std::vector<double>& got, const std::vector<double>& expected) {
  return got.size() == expected.size()
             ? tests::difference(make<double>({static_cast<int64_t>(got.size())}, got), expected)
             : INFINITY;
}

constexpr Reduction reductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

}  // namespace

TEST_CASE("loss and gradient equal a plain double loop for every option, dtype and layout") {
  for (const Shape& shape :
       std::vector<Shape>{{5}, {1, 3}, {7, 10}, {3000, 5}, {4, 70}, {3, 4, 5}, {2, 6, 3, 4}}) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      const Tensor logits = random_tensor(shape, dtype);
      const int64_t dim = shape.dim() == 1 ? 0 : 1, classes = shape[dim];
      Shape rows = shape;
      rows.erase(dim);
      const Tensor target =
          generate<int64_t>(rows, [&](int64_t i) { return i % 5 == 3 ? -100 : i * 7 % classes; });
      const Tensor weight = kernels::to(
          generate<double>({classes}, [](int64_t i) { return 0.5 + 0.25 * static_cast<double>(i % 4); }),
          dtype);
      for (const double smoothing : {0.0, 0.1, 1.0}) {
        for (const Reduction reduction : reductions) {
          for (const Tensor& w : {Tensor(), weight}) {
            const CrossEntropyOptions options{-100, smoothing, reduction};
            const Result expected = reference(logits, target, w, options);
            for (const Tensor& layout : layouts_of(logits)) {
              const Result got = computed(layout, target, w, options);
              CHECK(difference(got.loss, expected.loss) <= 2 * tolerance(dtype));
              CHECK(difference(got.gradient, expected.gradient) <= 2 * tolerance(dtype));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("when every row is ignored, sum is 0, the mean is NaN and the gradient is exactly 0") {
  const Tensor logits = random_tensor({2, 3}), target = make<int64_t>({2}, {-100, -100});
  for (const Reduction reduction : reductions) {
    for (const double smoothing : {0.0, 0.1}) {
      const Result got = computed(logits, target, {}, {-100, smoothing, reduction});
      for (const double value : got.gradient) CHECK(value == 0);
      if (reduction == Reduction::none) CHECK(got.loss == std::vector<double>{0, 0});
      if (reduction == Reduction::sum) CHECK(got.loss == std::vector<double>{0});
      if (reduction == Reduction::mean) CHECK(std::isnan(got.loss[0]));
    }
  }
  CHECK(std::isnan(computed(empty({0, 3}), empty({0}, int64), {}, {}).loss[0]));
  CHECK(computed(empty({0, 3}), empty({0}, int64), {}, {-100, 0, Reduction::sum}).loss[0] == 0);
}

TEST_CASE("an ignored label may lie outside the classes for every reduction") {
  const Tensor logits = empty({6, 3}), target = make<int64_t>({6}, {0, 1, 255, 0, 1, 2});
  kernels::zero(logits);
  const double ln3 = std::log(3.0);
  CHECK(difference(computed(logits, target, {}, {255, 0, Reduction::none}).loss,
                   {ln3, ln3, 0, ln3, ln3, ln3}) < 1e-6);
  CHECK(computed(logits, target, {}, {255, 0, Reduction::sum}).loss[0] == doctest::Approx(5.4930614));
  CHECK(computed(logits, target, {}, {255, 0, Reduction::mean}).loss[0] == doctest::Approx(1.0986123));
}

TEST_CASE("weights, smoothing and ignored labels go together") {
  const Tensor logits = make<float>({3, 3}, {1, 0, 0, 1, 0, 0, 1, 0, 0}),
               target = make<int64_t>({3}, {0, 1, -100});
  const Tensor ones = make<float>({3}, {1, 1, 1}), weight = make<float>({3}, {1, 3, 1});
  CHECK(computed(logits, target, ones, {-100, 0.1, Reduction::mean}).loss[0] == doctest::Approx(1.0681114));
  CHECK(computed(logits, target, ones, {-100, 0.1, Reduction::sum}).loss[0] == doctest::Approx(2.1362228));
  CHECK(computed(logits, target, weight, {}).loss[0] == doctest::Approx(1.3014447));
}

TEST_CASE("a probability that underflows still has a finite loss and gradient") {
  const Result got = computed(make<float>({1, 3}, {10, 0, -100}), make<int64_t>({1}, {2}), {}, {});
  CHECK(got.loss[0] == doctest::Approx(110.0000454));
  CHECK(difference(got.gradient, {0.9999546, 4.5398e-5, -1}) < 1e-6);
}

TEST_CASE("an ignore_index that is a class drops rows, not columns") {
  const Tensor logits = make<float>({2, 3}, {1, 1, 1, 5, 6, 7}), target = make<int64_t>({2}, {1, 0});
  CHECK(computed(logits, target, {}, {0, 0, Reduction::mean}).loss[0] == doctest::Approx(std::log(3.0)));
}

TEST_CASE("labels and arguments that do not fit are errors that say where") {
  const auto message = [](const Tensor& logits, const Tensor& target, const Tensor& weight = {},
                          double smoothing = 0) {
    return error_of([&] {
      kernels::cross_entropy_forward(logits, target, weight, {-100, smoothing, Reduction::mean});
    });
  };
  const Tensor logits = random_tensor({2, 3});
  CHECK(contains(message(logits, make<int64_t>({2}, {0, 3})), "cross_entropy: the target of row 1 is 3"));
  CHECK(contains(message(logits, make<int64_t>({2}, {-1, 0})), "the target of row 0 is -1"));
  CHECK(contains(message(logits, make<int64_t>({3}, {0, 0, 0})),
                 "target must be [2] for an input of [2, 3], got [3]"));
  CHECK(contains(message(logits, make<int32_t>({2}, {0, 0})), "int64, got int32"));
  CHECK(contains(message(random_tensor({2, 3}, int64), make<int64_t>({2}, {0, 0})), "floating-point"));
  CHECK(contains(message(logits, make<int64_t>({2}, {0, 0}), random_tensor({2})), "weight must be [3]"));
  CHECK(contains(message(logits, make<int64_t>({2}, {0, 0}), {}, 1.5),
                 "label_smoothing must be from 0 to 1, got 1.5"));
}

TEST_CASE("cross-entropy has the same bits for any number of threads") {
  const Tensor logits = random_tensor({9000, 10});
  const Tensor target = generate<int64_t>({9000}, [](int64_t i) { return i * 7 % 10; });
  const auto forward = kernels::cross_entropy_forward(logits, target, {}, {});
  CHECK(same_for_all_threads([&] { return kernels::cross_entropy_forward(logits, target, {}, {}).loss; }));
  CHECK(same_for_all_threads(
      [&] { return kernels::cross_entropy_backward(forward.loss, logits, target, {}, forward, {}); }));
}
