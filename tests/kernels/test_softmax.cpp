#include <tern/kernels/softmax.h>
#include <tern/tests/kernels/reference.h>

using namespace tern;
using namespace tern::tests;

namespace {

const std::vector<Shape> shapes{{},     {1},       {0},    {7},        {3, 5},       {0, 4},
                                {4, 0}, {33, 130}, {5, 1}, {2, 17, 9}, {2, 3, 4, 5}, {3, 1000}};

// Row-major positions as rows along `dim`.
struct Rows {
  int64_t size = 1, inner = 1, count = 1;
  Rows(const Shape& shape, int64_t dim) {
    for (int i = 0; i < shape.dim(); ++i) {
      if (i == dim) size = shape[i];
      if (i != dim) count *= shape[i];
      if (i > dim) inner *= shape[i];
    }
  }
  size_t at(int64_t row, int64_t i) const {
    return static_cast<size_t>((row / inner * size + i) * inner + row % inner);
  }
};

std::vector<double> reference(const Tensor& x, int64_t dim, bool logarithm) {
  std::vector<double> y = values(x);
  const Rows rows(x.shape(), dim);
  for (int64_t row = 0; row < rows.count; ++row) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < rows.size; ++i) largest = std::max(largest, y[rows.at(row, i)]);
    for (int64_t i = 0; i < rows.size; ++i) sum += std::exp(y[rows.at(row, i)] - largest);
    for (int64_t i = 0; i < rows.size; ++i) {
      double& value = y[rows.at(row, i)];
      value = logarithm ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
    }
  }
  return y;
}

std::vector<double> reference_backward(const Tensor& dy, const Tensor& y, int64_t dim, bool logarithm) {
  const std::vector<double> d = values(dy), v = values(y);
  std::vector<double> dx(d.size());
  const Rows rows(y.shape(), dim);
  for (int64_t row = 0; row < rows.count; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < rows.size; ++i) sum += d[rows.at(row, i)] * (logarithm ? 1 : v[rows.at(row, i)]);
    for (int64_t i = 0; i < rows.size; ++i) {
      const size_t at = rows.at(row, i);
      dx[at] = logarithm ? d[at] - std::exp(v[at]) * sum : v[at] * (d[at] - sum);
    }
  }
  return dx;
}

}  // namespace

TEST_CASE("softmax and its logarithm along any dimension of any layout equal plain double loops") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      const Tensor x = random_tensor(shape, dtype), dy = random_tensor(shape, dtype, 2);
      for (int64_t dim = 0; dim < std::max<int64_t>(x.dim(), 1); ++dim) {
        for (const Tensor& layout : layouts_of(x)) {
          const Tensor y = kernels::softmax(layout, dim),
                       log_y = kernels::log_softmax(layout, dim - std::max<int64_t>(x.dim(), 1));
          CHECK(difference(y, reference(x, dim, false)) <= tolerance(dtype));
          CHECK(difference(log_y, reference(x, dim, true)) <= tolerance(dtype));
          for (const Tensor& upstream : layouts_of(dy)) {
            CHECK(difference(kernels::softmax_backward(upstream, y, dim),
                             reference_backward(dy, y, dim, false)) <= 5 * tolerance(dtype));
            CHECK(difference(kernels::log_softmax_backward(upstream, log_y, dim),
                             reference_backward(dy, log_y, dim, true)) <= 5 * tolerance(dtype));
          }
        }
      }
    }
  }
}

TEST_CASE("softmax neither overflows nor underflows") {
  const Tensor x = make<float>({3}, {10, 0, -100});
  CHECK(values(kernels::log_softmax(x, 0))[2] == doctest::Approx(-110.0000454));
  const Tensor huge = make<float>({4}, {3e38f, 3e38f, -3e38f, -INFINITY});
  CHECK(values(kernels::softmax(huge, 0)) == std::vector<double>{0.5, 0.5, 0, 0});
  CHECK(values(kernels::log_softmax(huge, 0))[3] == -INFINITY);
}

TEST_CASE("rows of -inf, and rows with NaN or +inf, give NaN and leave the others alone") {
  const Tensor x = make<float>({4, 2}, {-INFINITY, -INFINITY, NAN, 1, INFINITY, 1, 0, 0});
  for (const Tensor& y : {kernels::softmax(x, 1), kernels::log_softmax(x, 1)}) {
    const std::vector<double> got = values(y);
    CHECK(std::isnan(got[0]));
    CHECK(std::isnan(got[2]));
    CHECK(std::isnan(got[4]));
    CHECK(std::isfinite(got[6]));
  }
}

TEST_CASE("softmax has the same bits for any number of threads") {
  const Tensor x = random_tensor({70, 900}), y = kernels::softmax(x, 1);
  CHECK(same_for_all_threads([&] { return kernels::softmax(x, 0); }));
  CHECK(same_for_all_threads([&] { return kernels::log_softmax(x, 1); }));
  CHECK(same_for_all_threads([&] { return kernels::softmax_backward(x, y, 1); }));
}

TEST_CASE("softmax refuses integers and dimensions that are not there") {
  CHECK(contains(error_of([] { kernels::softmax(random_tensor({3}, int64), 0); }),
                 "softmax: needs a floating-point"));
  CHECK(contains(error_of([] { kernels::log_softmax(random_tensor({3}, int64), 0); }), "log_softmax"));
  CHECK(contains(error_of([] { kernels::softmax(random_tensor({3}), 1); }), "softmax"));
}
