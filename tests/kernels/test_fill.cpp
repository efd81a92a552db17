#include <tern/tests/kernels/reference.h>

#include <algorithm>
#include <numeric>

using namespace tern;
using namespace tern::tests;

TEST_CASE("fill writes every element of any layout and no other") {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    for (const Shape& shape : std::vector<Shape>{{}, {0}, {1}, {16385}, {3, 4, 5, 6}}) {
      for (const Tensor& x : layouts_of(random_tensor(shape, dtype))) {
        kernels::fill(x, 1);
        for (const double value : values(x)) CHECK(value == 1);
        kernels::zero(x);
        for (const double value : values(x)) CHECK(value == 0);
      }
    }
  }
  const Tensor flag = empty({1}, boolean);
  kernels::fill(flag, 0.5);
  CHECK(*flag.data<bool>());
}

TEST_CASE("arange counts up and down, in integers and fractions") {
  CHECK(values(kernels::arange(0, 5, 1, int64)) == std::vector<double>{0, 1, 2, 3, 4});
  CHECK(values(kernels::arange(5, 0, -2, int32)) == std::vector<double>{5, 3, 1});
  CHECK(values(kernels::arange(0, 1, 0.25, float64)) == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(values(kernels::arange(1, 4, 1, float16)) == std::vector<double>{1, 2, 3});
  CHECK(kernels::arange(3, 3, 1, int64).shape() == Shape{0});
  CHECK(kernels::arange(0, 100000, 3, int64).data<int64_t>()[33333] == 99999);
  CHECK(contains(error_of([] { kernels::arange(0, 5, -1, int64); }),
                 "arange: no steps of -1 lead from 0 to 5"));
  CHECK(contains(error_of([] { kernels::arange(0, 5, 0, int64); }), "arange"));
  CHECK(contains(error_of([] { kernels::arange(0, 1, 1, boolean); }), "got bool"));
}

TEST_CASE("eye has ones on the diagonal") {
  CHECK(values(kernels::eye(2, 3)) == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(values(kernels::eye(3, 1, int32)) == std::vector<double>{1, 0, 0});
  CHECK(kernels::eye(0, 3).numel() == 0);
}

TEST_CASE(
    "random numbers depend on the index alone, whatever the layout, and follow the documented formula") {
  for (const Shape& shape : std::vector<Shape>{{}, {1}, {1023}, {5, 1, 7}, {2, 3, 5, 7}, {40000}}) {
    for (const DType dtype : {float32, float64, bfloat16}) {
      for (const Tensor& x : layouts_of(random_tensor(shape, dtype))) {
        Generator generator;
        generator.set_state({9, 5});
        kernels::uniform(x, 0, 1, generator);
        const std::vector<double> got = values(x);
        const uint64_t per = dtype == float64 ? 2 : 4;
        for (uint64_t i = 0; i < got.size(); ++i) {
          const RandomBlock block = Philox::block(9, 0, 5 + i / per);
          double expected = uniform_float(block[i % 4]);
          if (dtype == float64) expected = uniform_double(block[i % 2 * 2], block[i % 2 * 2 + 1]);
          if (dtype == bfloat16) expected = static_cast<float>(BFloat16(static_cast<float>(expected)));
          CHECK(got[i] == expected);
        }
        CHECK(generator.state().offset == 5 + (got.size() + per - 1) / per);
      }
    }
  }
}

TEST_CASE("normal numbers have the asked mean and deviation") {
  Generator generator;
  for (const DType dtype : {float32, float64, float16}) {
    const Tensor x = empty({100000}, dtype);
    kernels::normal(x, 3, 2, generator);
    double sum = 0, squares = 0;
    for (const double value : values(x)) sum += value - 3, squares += (value - 3) * (value - 3);
    CHECK(std::abs(sum / 1e5) < 0.04);
    CHECK(std::abs(squares / 1e5 - 4) < 0.1);
  }
  Generator again;
  again.set_state({3, 8});
  const Tensor x = empty({5});
  kernels::normal(x, 0, 1, again);
  CHECK(x.data<float>()[4] == normal_floats(Philox::block(3, 0, 9))[0]);
}

TEST_CASE("integers hit every value of their range and nothing else") {
  Generator generator;
  for (const DType dtype : {int64, int32, uint8, float32}) {
    const Tensor x = empty({5000}, dtype);
    kernels::randint(x, 3, 8, generator);
    std::vector<int> counts(8);
    for (const double value : values(x)) ++counts.at(static_cast<size_t>(value));
    for (size_t i = 0; i < 8; ++i) CHECK((i < 3 ? counts[i] == 0 : std::abs(counts[i] - 1000) < 150));
  }
}

TEST_CASE("bernoulli draws ones with the asked probability") {
  Generator generator;
  const Tensor x = empty({100000}, boolean);
  for (const double p : {0.0, 0.3, 1.0}) {
    kernels::bernoulli(x, p, generator);
    const std::vector<double> got = values(x);
    CHECK(std::abs(std::accumulate(got.begin(), got.end(), 0.0) / 1e5 - p) < (p == 0.3 ? 0.008 : 1e-9));
  }
}

TEST_CASE("randperm is a permutation, another one each time") {
  Generator generator;
  for (const int64_t n : {0, 1, 2, 1000}) {
    std::vector<double> order = values(kernels::randperm(n, generator));
    const std::vector<double> next = values(kernels::randperm(n, generator));
    if (n == 1000) CHECK(order != next);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<double>(i));
  }
}

TEST_CASE("random tensors have the same bits for any number of threads") {
  CHECK(same_for_all_threads([] { return random_tensor({100003}); }));
  CHECK(same_for_all_threads([] { return random_tensor({100003}, int32); }));
}

TEST_CASE("filling refuses overlapping targets and impossible arguments") {
  const Tensor x = random_tensor({4}), flags = random_tensor({4}, boolean),
               counts = random_tensor({4}, int64);
  const Tensor spread = x.with_layout(x.layout().expand({3, 4}));
  Generator generator;
  CHECK(contains(error_of([&] { kernels::fill(spread, 1); }),
                 "fill: cannot write into a view of shape [3, 4]"));
  CHECK(contains(error_of([&] { kernels::uniform(spread, 0, 1, generator); }), "clone() first"));
  CHECK(contains(error_of([&] { kernels::uniform(x, 2, 1, generator); }), "got 2 and 1"));
  CHECK(contains(error_of([&] { kernels::normal(x, 0, -1, generator); }), "normal"));
  CHECK(contains(error_of([&] { kernels::normal(counts, 0, 1, generator); }), "floating-point"));
  CHECK(contains(error_of([&] { kernels::randint(x, 3, 3, generator); }), "low must be below high"));
  CHECK(contains(error_of([&] { kernels::randint(flags, 0, 1, generator); }), "got bool"));
  CHECK(contains(error_of([&] { kernels::bernoulli(x, 1.5, generator); }), "got 1.5"));
  CHECK(contains(error_of([&] { kernels::randperm(-1, generator); }), "randperm"));
}
