#include <tern/core/allocator.h>
#include <tern/kernels/creation.h>
#include <tern/tests/kernels/reference.h>

#include <algorithm>
#include <limits>
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

TEST_CASE("arange at the ends of int64 is exact, and counts that no tensor holds are errors") {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  const auto integers = [](int64_t start, int64_t end, int64_t step) {
    const Tensor y = arange(start, end, step);
    return std::vector<int64_t>(y.data<int64_t>(), y.data<int64_t>() + y.numel());
  };
  constexpr int64_t quarter = int64_t{1} << 62;
  CHECK(integers(least, most, quarter) == std::vector<int64_t>{least, -quarter, 0, quarter});
  CHECK(integers(most - 2, most, 5) == std::vector<int64_t>{most - 2});
  CHECK(integers(most, least, least) == std::vector<int64_t>{most, -1});
  CHECK(integers(least + 2, least, -1) == std::vector<int64_t>{least + 2, least + 1});
  constexpr int64_t uneven = (int64_t{1} << 53) + 1;
  CHECK(integers(uneven, uneven + 2, 1) == std::vector<int64_t>{uneven, uneven + 1});
  CHECK(contains(error_of([&] { arange(uneven, uneven - 1, 1); }), "arange: no steps of 1 lead from"));
  for (const auto& action : std::vector<std::function<void()>>{
           [] { arange(0, 1, 1e-300); }, [] { arange(0, 1e19, 1); }, [] { arange(0.0, 1e300, 1e-5); },
           [] { arange(least, most, 1); }, [] { arange(most, least, -1); }}) {
    CHECK(contains(error_of(action), "more than 2^63 - 1 elements"));
  }
  CHECK_THROWS_AS(arange(0, quarter), Error);
  CHECK_THROWS_AS(arange(0.0, 1e18, 1), Error);
  for (const double bad : {INFINITY, -INFINITY, NAN}) {
    CHECK(contains(error_of([&] { arange(0, bad); }), "arange: no steps of"));
    CHECK(contains(error_of([&] { arange(bad, 5); }), "arange: no steps of"));
    CHECK(contains(error_of([&] { arange(0, 5, bad); }), "arange: no steps of"));
  }
  Generator generator;
  CHECK_THROWS_AS(kernels::randperm(most, generator), Error);
  CHECK(generator.state().offset == Generator().state().offset);
}

TEST_CASE("numbers that a dtype does not hold are errors where a tensor is made from them") {
  struct Misfit {
    Scalar value;
    DType dtype;
    const char* text;
  };
  const std::vector<Misfit> misfits{
      {300, uint8, "300 does not fit uint8"},
      {-1, uint8, "-1 does not fit uint8"},
      {256.0, uint8, "256 does not fit uint8"},
      {NAN, uint8, "nan does not fit uint8"},
      {int64_t{1} << 40, int32, "1099511627776 does not fit int32"},
      {-2147483649.0, int32, "-2.14748e+09 does not fit int32"},
      {INFINITY, int32, "inf does not fit int32"},
      {NAN, int64, "nan does not fit int64"},
      {0x1p63, int64, "9.22337e+18 does not fit int64"},
      {-INFINITY, int64, "-inf does not fit int64"},
      {1e300, float32, "1e+300 does not fit float32"},
      {-1e39, bfloat16, "-1e+39 does not fit bfloat16"},
      {1e6, float16, "1e+06 does not fit float16"},
      {100000, float16, "100000 does not fit float16"},
  };
  for (const Misfit& misfit : misfits) {
    CHECK(contains(error_of([&] { full({1}, misfit.value, misfit.dtype); }),
                   std::string("full: ") + misfit.text));
    CHECK(contains(error_of([&] { full({0}, misfit.value, misfit.dtype); }), misfit.text));
    CHECK(contains(error_of([&] { full_like(empty({1}, misfit.dtype), misfit.value); }),
                   std::string("full_like: ") + misfit.text));
  }
  const int64_t before = memory_statistics().allocations;
  CHECK(contains(error_of([] { full({int64_t{1} << 50}, 300, uint8); }), "300 does not fit uint8"));
  CHECK(memory_statistics().allocations == before);
  CHECK(values(full({1}, 255.9, uint8)) == std::vector<double>{255});
  CHECK(values(full({1}, 2.7, int32)) == std::vector<double>{2});
  CHECK(values(full({1}, -0x1p63, int64)) == std::vector<double>{-0x1p63});
  CHECK(values(full({1}, 65504, float16)) == std::vector<double>{65504});
  CHECK(values(full({1}, INFINITY, float16)) == std::vector<double>{INFINITY});
  CHECK(std::isnan(values(full({1}, NAN, bfloat16))[0]));
  CHECK(values(full({1}, NAN, boolean)) == std::vector<double>{1});
  CHECK(values(full({1}, 2, boolean)) == std::vector<double>{1});
  CHECK(contains(error_of([] { full({1}, ~uint64_t{0}, int64); }), "18446744073709551615 is above 2^63 - 1"));
  CHECK(contains(error_of([] { tensor({~uint64_t{0}}); }), "18446744073709551615 is above 2^63 - 1"));
}

TEST_CASE(
    "filling with a number that the dtype does not hold is defined: integers wrap, fractions saturate") {
  const auto filled = [](Scalar value, DType dtype) {
    const Tensor x = empty({3}, dtype);
    kernels::fill(x, value);
    return values(x)[2];
  };
  CHECK(filled(300, uint8) == 44);
  CHECK(filled(-1, uint8) == 255);
  CHECK(filled(300.5, uint8) == 255);
  CHECK(filled(-1.5, uint8) == 0);
  CHECK(filled(NAN, int64) == 0);
  CHECK(filled(1e30, int64) == 0x1p63);
  CHECK(filled(-INFINITY, int32) == -0x1p31);
}

TEST_CASE("eye has ones on the diagonal") {
  CHECK(values(kernels::eye(2, 3)) == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(values(kernels::eye(3, 1, int32)) == std::vector<double>{1, 0, 0});
  CHECK(kernels::eye(0, 3).numel() == 0);
  CHECK(eye(2).shape() == Shape{2, 2});
  CHECK(eye(2, 3).shape() == Shape{2, 3});
  CHECK(eye(2, 0).shape() == Shape{2, 0});
  CHECK(contains(error_of([] { eye(2, -7); }), "eye: sizes must not be negative, got 2 and -7"));
  CHECK(contains(error_of([] { eye(2, -1); }), "eye: sizes must not be negative, got 2 and -1"));
  CHECK(contains(error_of([] { eye(-1); }), "eye: sizes must not be negative, got -1 and -1"));
  CHECK_THROWS_AS(eye(std::numeric_limits<int64_t>::max()), Error);
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
  const auto refuses = [&](int64_t low, int64_t high, DType dtype, const std::string& text) {
    return contains(error_of([&] { randint(low, high, {2}, dtype); }), "randint: " + text);
  };
  CHECK(refuses(0, 300, uint8, "299 does not fit uint8"));
  CHECK(refuses(0, 257, uint8, "256 does not fit uint8"));
  CHECK(refuses(-1, 3, uint8, "-1 does not fit uint8"));
  CHECK(refuses(0, int64_t{1} << 40, int32, "1099511627775 does not fit int32"));
  CHECK(refuses(0, 1 << 20, float16, "1048575 does not fit float16"));
  CHECK(randint(0, 256, {2}, uint8).numel() == 2);
  CHECK(randint(INT64_MIN, INT64_MAX, {2}).numel() == 2);
  CHECK(contains(error_of([&] { kernels::uniform(x, -3e38, 3e38, generator); }),
                 "uniform: the range from -3e+38 to 3e+38 is too wide for float32"));
  CHECK(contains(error_of([&] { kernels::uniform(x, 0, INFINITY, generator); }), "too wide for float32"));
  CHECK(contains(error_of([&] { kernels::bernoulli(x, 1.5, generator); }), "got 1.5"));
  CHECK(contains(error_of([&] { kernels::randperm(-1, generator); }), "randperm"));
}

TEST_CASE("float64 takes every number, float32 no finite one beyond its range") {
  CHECK(full({1}, 1e300, float64).data<double>()[0] == 1e300);
  CHECK_THROWS_AS(full({1}, 1e300, float32), Error);
}
