#include <tern/kernels/creation.h>
#include <tern/kernels/matmul.h>
#include <tern/tests/kernels/reference.h>

using namespace tern;
using namespace tern::tests;

namespace {

// c[m][n] = sum of a[m][k] b[k][n] in double, and the sum of magnitudes that bounds its error.
struct Reference {
  std::vector<double> values, magnitudes;
};

Reference multiply(const std::vector<double>& a, const std::vector<double>& b, int64_t m, int64_t n,
                   int64_t k) {
  Reference c{std::vector<double>(static_cast<size_t>(m * n)),
              std::vector<double>(static_cast<size_t>(m * n))};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) {
        const double product = a[static_cast<size_t>(i * k + p)] * b[static_cast<size_t>(p * n + j)];
        c.values[static_cast<size_t>(i * n + j)] += product;
        c.magnitudes[static_cast<size_t>(i * n + j)] += std::abs(product);
      }
    }
  }
  return c;
}

bool agrees(const Tensor& c, const Reference& expected) {
  const double bound = c.dtype() == float32   ? 3e-7
                       : c.dtype() == float64 ? 1e-15
                       : c.dtype() == float16 ? 1e-3
                                              : 8e-3;
  const std::vector<double> got = values(c);
  if (got.size() != expected.values.size()) return false;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected.values[i]) <= bound * (1e-6 + expected.magnitudes[i]))) return false;
  }
  return true;
}

struct Size {
  int64_t m, n, k;
};

const std::vector<Size> sizes{{1, 1, 1},      {1, 7, 3},      {7, 1, 3},      {16, 16, 16},   {3, 5, 0},
                              {0, 5, 3},      {5, 0, 3},      {17, 33, 9},    {4, 8, 100},    {13, 40, 33},
                              {128, 10, 300}, {10, 300, 128}, {128, 300, 10}, {1, 100, 90},   {100, 1, 90},
                              {65, 257, 31},  {300, 70, 65},  {2, 9, 1100},   {50, 16, 1025}, {300, 530, 40}};

}  // namespace

TEST_CASE("products of matrices in every layout equal a plain double loop") {
  for (const Size& s : sizes) {
    for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32}) {
      const Tensor a = random_tensor({s.m, s.k}, dtype), b = random_tensor({s.k, s.n}, dtype, 2);
      const Reference expected = multiply(values(a), values(b), s.m, s.n, s.k);
      for (const Tensor& left : layouts_of(a)) {
        for (const Tensor& right : layouts_of(b)) {
          const Tensor c = kernels::matmul(left, right);
          CHECK(c.shape() == Shape{s.m, s.n});
          CHECK_MESSAGE(agrees(c, expected), dtype, " ", a.shape(), left.strides(), " ", b.shape(),
                        right.strides());
        }
      }
    }
  }
}

TEST_CASE("large products equal a plain double loop") {
  const Tensor a = random_tensor({128, 16384}), b = random_tensor({16384, 10}, float32, 2),
               dy = random_tensor({128, 10});
  CHECK(agrees(kernels::matmul(a, b), multiply(values(a), values(b), 128, 10, 16384)));
  const Tensor columns = kernels::contiguous(b.with_layout(b.layout().transpose(0, 1)));
  CHECK(agrees(kernels::matmul(dy, columns), multiply(values(dy), values(columns), 128, 16384, 10)));
  const Tensor wide = random_tensor({70, 512}, float32, 3), tall = random_tensor({150, 70}, float32, 4);
  CHECK(agrees(kernels::matmul(tall, wide), multiply(values(tall), values(wide), 150, 512, 70)));
  const Tensor turned = dy.with_layout(dy.layout().transpose(0, 1));
  CHECK(agrees(kernels::matmul(turned, a), multiply(values(turned), values(a), 10, 16384, 128)));
}

TEST_CASE("one-dimensional operands are rows on the left and columns on the right") {
  const Tensor x = make<float>({3}, {1, 2, 3}), m = counted<float>({3, 2}), tall = counted<float>({2, 2, 3});
  CHECK(kernels::matmul(x, x).shape() == Shape{});
  CHECK(kernels::matmul(x, x).item<float>() == 14);
  CHECK(values(kernels::matmul(x, m)) == std::vector<double>{16, 22});
  CHECK(kernels::matmul(x, m).shape() == Shape{2});
  CHECK(values(kernels::matmul(tall, x)) == std::vector<double>{8, 26, 44, 62});
  CHECK(kernels::matmul(tall, x).shape() == Shape{2, 2});
  CHECK(kernels::matmul(x, random_tensor({4, 3, 5})).shape() == Shape{4, 5});
  CHECK(kernels::matmul(empty({0}), empty({0})).item<float>() == 0);
}

TEST_CASE("batches broadcast") {
  for (const DType dtype : {float32, float64, bfloat16, int32}) {
    for (const auto& [left, right] :
         std::vector<std::pair<Shape, Shape>>{{{5, 4, 3}, {3, 6}},
                                              {{4, 3}, {5, 3, 6}},
                                              {{5, 4, 3}, {5, 3, 6}},
                                              {{2, 1, 4, 3}, {5, 3, 6}},
                                              {{2, 1, 4, 3}, {1, 5, 3, 6}},
                                              {{0, 4, 3}, {3, 6}},
                                              {{2, 70, 4, 64}, {2, 70, 64, 20}}}) {
      const Tensor a = random_tensor(left, dtype), b = random_tensor(right, dtype, 2);
      for (const Tensor& x : layouts_of(a)) {
        const Tensor c = kernels::matmul(x, b);
        Shape batch = c.shape();
        batch.erase(batch.dim() - 1), batch.erase(batch.dim() - 1);
        Shape a_shape = batch, b_shape = batch;
        a_shape.push_back(a.size(-2)), a_shape.push_back(a.size(-1));
        b_shape.push_back(b.size(-2)), b_shape.push_back(b.size(-1));
        const Tensor wide_a = kernels::contiguous(a.with_layout(a.layout().expand(a_shape)));
        const Tensor wide_b = kernels::contiguous(b.with_layout(b.layout().expand(b_shape)));
        for (int64_t i = 0; i < batch.numel(); ++i) {
          const auto part = [i](const Tensor& t) {
            const Layout layout({t.size(-2), t.size(-1)}, {t.size(-1), 1}, i * t.size(-2) * t.size(-1));
            return t.with_layout(layout);
          };
          CHECK(agrees(part(c), multiply(values(part(wide_a)), values(part(wide_b)), c.size(-2), c.size(-1),
                                         a.size(-1))));
        }
      }
    }
  }
}

TEST_CASE("expanded operands are read as they are") {
  const Tensor row = make<float>({1, 3}, {1, 2, 3}), b = random_tensor({3, 4});
  const Tensor rows = row.with_layout(row.layout().expand({5, 3}));
  const Tensor c = kernels::matmul(rows, b);
  const std::vector<double> one = values(kernels::matmul(row, b)), all = values(c);
  for (size_t i = 0; i < all.size(); ++i) CHECK(all[i] == doctest::Approx(one[i % 4]));
}

TEST_CASE("linear adds the bias to x W^T") {
  for (const DType dtype : {float32, float64, float16}) {
    for (const Shape& shape :
         std::vector<Shape>{{3}, {5, 3}, {128, 300}, {2, 4, 70}, {0, 3}, {5, 0}, {300, 64}}) {
      for (const int64_t out : {1, 10, 33}) {
        const Tensor x = random_tensor(shape, dtype), w = random_tensor({out, shape.back()}, dtype, 2);
        const Tensor bias = random_tensor({out}, dtype, 3);
        const int64_t rows = kernels::linear(x, w, {}).numel() / out;
        const Tensor turned = kernels::contiguous(w.with_layout(w.layout().transpose(0, 1)));
        Reference expected = multiply(values(x), values(turned), rows, out, shape.back());
        for (const Tensor& layout : layouts_of(x)) CHECK(agrees(kernels::linear(layout, w, {}), expected));
        const std::vector<double> b = values(bias);
        for (size_t i = 0; i < expected.values.size(); ++i) {
          expected.values[i] += b[i % b.size()];
          expected.magnitudes[i] += std::abs(b[i % b.size()]);
        }
        const Tensor y = kernels::linear(x, w, bias);
        CHECK(y.shape().back() == out);
        CHECK(agrees(y, expected));
      }
    }
  }
}

TEST_CASE("gemm scales both terms, and beta 0 does not read c") {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const Size& s : sizes) {
        const Tensor a = random_tensor({s.m, s.k}, float64), b = random_tensor({s.k, s.n}, float64, 2);
        const Tensor left = kernels::contiguous(transpose_a ? a.with_layout(a.layout().transpose(0, 1)) : a);
        const Tensor right = kernels::contiguous(transpose_b ? b.with_layout(b.layout().transpose(0, 1)) : b);
        const Reference product = multiply(values(a), values(b), s.m, s.n, s.k);
        const kernels::GemmSizes gemm{transpose_a,
                                      transpose_b,
                                      s.m,
                                      s.n,
                                      s.k,
                                      std::max<int64_t>(transpose_a ? s.m : s.k, 1),
                                      std::max<int64_t>(transpose_b ? s.k : s.n, 1),
                                      s.n + 2};
        const auto run = [&]<class T>(const Tensor& x, const Tensor& y, T alpha, T beta, T start) {
          const Tensor c = empty({s.m, s.n + 2}, dtype_of<T>());
          kernels::fill(c, start);
          kernels::gemm(gemm, alpha, x.data<T>(), y.data<T>(), beta, c.data<T>());
          Reference expected = product;
          for (double& value : expected.values) value = alpha * value + (beta == 0 ? 0 : beta * start);
          for (double& value : expected.magnitudes) value = 2 * value + 3;
          CHECK(agrees(c.with_layout(c.layout().slice(1, 0, s.n, 1)), expected));
          for (const double value : values(c.with_layout(c.layout().slice(1, s.n, s.n + 2, 1)))) {
            CHECK((value == start || std::isnan(start)));
          }
        };
        run(left, right, 0.5, 2.0, 1.5);
        run(left, right, 1.0, 0.0, static_cast<double>(NAN));
        const Tensor x = kernels::to(left, float32), y = kernels::to(right, float32);
        run(x, y, 1.0f, 1.0f, 1.0f);
        run(x, y, 1.5f, 0.0f, NAN);
      }
    }
  }
}

TEST_CASE("products have the same bits for any number of threads") {
  for (const Size& s : {Size{300, 300, 300}, Size{128, 10, 5000}, Size{10, 5000, 128}, Size{600, 1100, 70},
                        Size{64, 5000, 20}}) {
    for (const DType dtype : {float32, float64, bfloat16, int32}) {
      const Tensor a = random_tensor({s.m, s.k}, dtype), b = random_tensor({s.k, s.n}, dtype, 2);
      const Tensor turned = kernels::contiguous(b.with_layout(b.layout().transpose(0, 1)));
      CHECK(same_for_all_threads([&] { return kernels::matmul(a, b); }));
      if (is_floating_point(dtype))
        CHECK(same_for_all_threads([&] { return kernels::linear(a, turned, {}); }));
    }
  }
  const Tensor a = random_tensor({40, 33, 64}), b = random_tensor({40, 64, 50});
  CHECK(same_for_all_threads([&] { return kernels::matmul(a, b); }));
}

TEST_CASE("NaN and infinity pass through products") {
  const Tensor a = random_tensor({20, 20}), b = random_tensor({20, 20}, float32, 2);
  a.data<float>()[0] = NAN, a.data<float>()[20] = INFINITY;
  for (const DType dtype : {float32, bfloat16}) {
    const std::vector<double> c = values(kernels::matmul(kernels::to(a, dtype), kernels::to(b, dtype)));
    for (size_t j = 0; j < 20; ++j) CHECK(std::isnan(c[j]));
    for (size_t j = 20; j < 40; ++j) CHECK(std::isinf(c[j]));
    for (size_t j = 40; j < 400; ++j) CHECK(std::isfinite(c[j]));
  }
}

TEST_CASE("products of bfloat16 round once, their bias included") {
  // 3 + 3 / 128 is no bfloat16, but what is left after the bias is.
  const Tensor x = full({1, 1}, 1 + 1.0 / 128, bfloat16), weight = full({1, 1}, 3.0, bfloat16);
  CHECK(values(kernels::linear(x, weight, full({1}, -3.0, bfloat16))) == std::vector<double>{3.0 / 128});
  // Neither is 256 + 1, or 1 + 1 / 256: the sums of a long product must not be rounded on the way.
  const Tensor rows = full({40, 1000}, 1.0, bfloat16), columns = full({1000, 40}, 1.0, bfloat16);
  for (const double value : values(kernels::matmul(rows, columns))) CHECK(value == 1000);
}

TEST_CASE("operands that do not fit are errors that name the shapes") {
  const auto message = [](const Shape& a, const Shape& b, DType x = float32, DType y = float32) {
    return error_of([&] { kernels::matmul(empty(a, x), empty(b, y)); });
  };
  CHECK(contains(message({2, 3}, {4, 5}), "matmul: inner sizes of [2, 3] and [4, 5] differ"));
  CHECK(contains(message({}, {3}), "matmul: operands need at least one dimension, got [] and [3]"));
  CHECK(contains(message({2, 4, 3}, {3, 3, 5}), "matmul"));
  CHECK(contains(message({3}, {3}, float32, float64), "one dtype, got float32 and float64"));
  CHECK(contains(message({3}, {3}, boolean, boolean), "got bool"));
  CHECK(contains(error_of([] {
                   kernels::linear(empty({2, 3}), empty({4, 5}), {});
                 }),
                 "got [2, 3] and [4, 5]"));
  CHECK(contains(error_of([] {
                   kernels::linear(empty({2, 3}), empty({4, 3}), empty({3}));
                 }),
                 "bias must be [4], got [3]"));
  CHECK(contains(error_of([] {
                   kernels::linear(empty({2, 3}, int64), empty({4, 3}, int64), {});
                 }),
                 "floating-point"));
}
