#include <tern/kernels/iterate.h>
#include <tern/tests/kernels/reference.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

using namespace tern;
using namespace tern::tests;

namespace {

const std::vector<Shape> shapes{{},        {0},          {1},          {7},           {16384},     {16385},
                                {3, 5},    {64, 64},     {65, 129},    {1, 9},        {9, 1},      {0, 4},
                                {2, 3, 4}, {5, 1, 8, 2}, {2, 3, 8, 9}, {2, 67, 5, 4}, {1, 8, 1, 1}};
const std::vector<DType> dtypes{float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

}  // namespace

TEST_CASE("a plan melts the dimensions that all operands cross evenly") {
  const Layout dense({4, 5, 6, 7}), images({4, 5, 6, 7}, MemoryFormat::channels_last);
  CHECK(kernels::make_plan(dense.shape, {&dense, &dense}).dims == 1);
  CHECK(kernels::make_plan(images.shape, {&images, &images}).dims == 1);
  CHECK(kernels::make_plan(dense.shape, {&dense, &images}).dims == 3);
  const Layout bias({5, 1, 1});
  const kernels::IteratePlan plan = kernels::make_plan(images.shape, {&images, &images, &bias});
  CHECK(plan.dims == 2);
  CHECK(plan.sizes[0] == 5);
  CHECK(plan.strides[0][2] == 1);
  CHECK(plan.strides[1][2] == 0);
}

TEST_CASE("rows cover every element once, in blocks that start anywhere") {
  const Layout layout({5, 4, 3}, {40, 9, 2});
  const kernels::IteratePlan plan = kernels::make_plan(layout.shape, {&layout});
  for (int64_t block = 1; block <= 61; ++block) {
    std::vector<int64_t> seen;
    for (int64_t begin = 0; begin < plan.numel; begin += block) {
      kernels::visit_rows(plan, begin, std::min(begin + block, plan.numel),
                          [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
                            for (int64_t i = 0; i < count; ++i) seen.push_back(offsets[0] + i * strides[0]);
                          });
    }
    REQUIRE(seen.size() == 60);
    for (int64_t i = 0; i < 60; ++i) CHECK(seen[static_cast<size_t>(i)] == position(layout, i));
  }
}

TEST_CASE("copies between all layouts keep the values") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float64, float16, uint8}) {
      const Tensor x = random_tensor(shape, dtype);
      for (const Tensor& from : layouts_of(x)) {
        for (const Tensor& to : layouts_of(random_tensor(shape, dtype, 2))) {
          kernels::copy(from, to);
          CHECK(values(to) == values(x));
        }
        CHECK(values(kernels::clone(from)) == values(x));
        CHECK(kernels::contiguous(from).is_contiguous());
        CHECK(values(kernels::contiguous(from)) == values(x));
        if (shape.dim() == 4) {
          const Tensor images = kernels::contiguous(from, MemoryFormat::channels_last);
          CHECK(images.is_channels_last());
          CHECK(values(images) == values(x));
        }
      }
    }
  }
}

TEST_CASE("a copy touches nothing but its target") {
  const Tensor base = empty({70, 70});
  kernels::fill(base, 7);
  const Tensor target = base.with_layout(base.layout().slice(0, 1, 68, 1).slice(1, 2, 69, 1).transpose(0, 1));
  kernels::copy(random_tensor({67, 67}), target);
  kernels::fill(target, 0);
  double sum = 0;
  for (const double value : values(base)) sum += value;
  CHECK(sum == 7 * (70 * 70 - 67 * 67));
}

TEST_CASE("contiguous and to give the tensor itself when nothing is to be done") {
  const Tensor x = random_tensor({2, 3, 1, 1});
  CHECK(kernels::contiguous(x).is_same(x));
  CHECK(kernels::contiguous(x, MemoryFormat::channels_last).is_same(x));
  CHECK(kernels::to(x, float32).is_same(x));
  CHECK(kernels::to(x, Device("cpu")).is_same(x));
  CHECK_FALSE(kernels::clone(x).is_same(x));
}

TEST_CASE("clone and conversion keep the order of dimensions") {
  const Tensor x = kernels::contiguous(random_tensor({2, 3, 4, 5}), MemoryFormat::channels_last);
  CHECK(kernels::clone(x).is_channels_last());
  CHECK(kernels::to(x, float64).is_channels_last());
}

TEST_CASE("copy broadcasts") {
  const Tensor y = empty({4, 3, 5});
  kernels::copy(make<float>({3, 1}, {1, 2, 3}), y);
  for (int64_t i = 0; i < 60; ++i) CHECK(y.data<float>()[i] == i / 5 % 3 + 1);
  const Tensor z = empty({0, 3});
  kernels::copy(make<float>({3}, {1, 2, 3}), z);
}

TEST_CASE("every dtype converts to every other") {
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      const Tensor x = kernels::to(random_tensor({3, 37}, uint8), from);
      const std::vector<double> expected = values(x);
      for (const Tensor& layout : layouts_of(x)) {
        const std::vector<double> got = values(kernels::to(layout, to));
        for (size_t i = 0; i < got.size(); ++i)
          CHECK(got[i] == (to == boolean ? expected[i] != 0 : expected[i]));
      }
    }
  }
}

TEST_CASE("half types round to nearest, even, and keep NaN and infinity") {
  const Tensor x = make<float>({6}, {2049, 2051, 1e9f, -INFINITY, NAN, 1e-8f});
  const std::vector<double> half = values(kernels::to(x, float16));
  CHECK(half[0] == 2048);
  CHECK(half[1] == 2052);
  CHECK(half[2] == INFINITY);
  CHECK(half[3] == -INFINITY);
  CHECK(std::isnan(half[4]));
  CHECK(half[5] == 0);
  const std::vector<double> brain = values(kernels::to(make<float>({3}, {257, 259, NAN}), bfloat16));
  CHECK(brain[0] == 256);
  CHECK(brain[1] == 260);
  CHECK(std::isnan(brain[2]));
  CHECK(values(kernels::to(make<float>({3}, {0, NAN, -0.5f}), boolean)) == std::vector<double>{0, 1, 1});
}

TEST_CASE("rows of float16 convert as single numbers do: every one of them, and what lies between") {
  const Tensor all = generate<Half>({65536}, [](int64_t i) {
    Half half;
    half.bits = static_cast<uint16_t>(i);
    return half;
  });
  const Tensor wide = kernels::to(all, float32), back = kernels::to(wide, float16);
  // The middle between two neighbours, and a little to both sides.
  const auto near = [&](int64_t i, uint32_t add) {
    const float x = static_cast<float>(all.data<Half>()[i]);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + add);
  };
  int wrong = 0;
  for (int64_t i = 0; i < 65536; ++i) {
    const float x = static_cast<float>(all.data<Half>()[i]);
    if (x != x) {
      wrong += !std::isnan(wide.data<float>()[i]) || !std::isnan(static_cast<float>(back.data<Half>()[i]));
    } else {
      wrong += std::bit_cast<uint32_t>(wide.data<float>()[i]) != std::bit_cast<uint32_t>(x);
      wrong += back.data<Half>()[i].bits != i;
    }
  }
  CHECK(wrong == 0);
  for (const uint32_t add : {0xfffu, 0x1000u, 0x1001u, 0x3fffffu}) {
    const Tensor between = generate<float>({0x7c00}, [&](int64_t i) { return near(i, add); });
    const Tensor rounded = kernels::to(between, float16);
    for (int64_t i = 0; i < 0x7c00; ++i)
      wrong += rounded.data<Half>()[i].bits != Half(between.data<float>()[i]).bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("conversion between float64 and float32 keeps all bits that fit") {
  const Tensor x = make<double>({2}, {1 + 0x1p-40, 1 + 0x1p-20});
  CHECK(values(kernels::to(x, float32)) == std::vector<double>{1, 1 + 0x1p-20});
  CHECK(values(kernels::to(kernels::to(x, float32), float64)) == std::vector<double>{1, 1 + 0x1p-20});
  CHECK(values(kernels::to(make<int64_t>({1}, {(int64_t{1} << 53) + 2}), float64))[0] == 0x1p53 + 2);
}

TEST_CASE("copying into an overlapping view or a wrong shape is an error") {
  const Tensor x = random_tensor({4});
  const Tensor spread = x.with_layout(x.layout().expand({3, 4}));
  CHECK(contains(error_of([&] { kernels::copy(x, spread); }), "clone() first"));
  CHECK(contains(error_of([&] { kernels::copy(spread, x); }), "copy: [3, 4] does not broadcast to [4]"));
  CHECK(contains(error_of([&] { kernels::copy(random_tensor({3}), x); }), "copy"));
}

TEST_CASE("a copy counts as a write") {
  const Tensor x = random_tensor({4});
  const uint64_t version = x.version();
  kernels::copy(random_tensor({4}), x);
  CHECK(x.version() == version + 1);
}

TEST_CASE("floating-point numbers become integers toward zero, at the ends of the range, and NaN becomes 0") {
  const std::vector<double> numbers{NAN,  INFINITY, -INFINITY, 1e20,    -1e20,  300.7,  -1.5,
                                    -0.5, 2.9,      0x1p31,    -0x1p31, 0x1p63, -0x1p63};
  for (const DType from : {float32, float64, float16, bfloat16}) {
    const Tensor x = kernels::to(make<double>({static_cast<int64_t>(numbers.size())}, numbers), from);
    const std::vector<double> rounded = values(x);
    for (const auto& [to, low, high] : std::vector<std::tuple<DType, double, double>>{
             {uint8, 0, 255}, {int32, -0x1p31, 0x1p31 - 1}, {int64, -0x1p63, 0x1p63}}) {
      std::vector<double> want;
      for (const double n : rounded) want.push_back(std::isnan(n) ? 0 : std::clamp(std::trunc(n), low, high));
      CHECK(values(kernels::to(x, to)) == want);
      const int64_t count = x.numel();
      const Tensor spread = empty({2 * count}, to);
      const Tensor sparse = spread.with_layout(Layout({count}, {2}));
      kernels::copy(x, sparse);
      CHECK(values(sparse) == want);
    }
  }
  CHECK(kernels::to(make<double>({1}, {0x1p63}), int64).data<int64_t>()[0] == INT64_MAX);
  CHECK(kernels::to(make<float>({1}, {0x1p31F}), int32).data<int32_t>()[0] == INT32_MAX);
  CHECK(make<float>({1}, {NAN}).item<int32_t>() == 0);
  CHECK(make<float>({1}, {-3}).item<uint8_t>() == 0);
  CHECK(make<Half>({1}, {Half(INFINITY)}).item<uint8_t>() == 255);
  CHECK(make<float>({1}, {NAN}).item<bool>());
}

TEST_CASE("one number out of range among thousands changes no other") {
  for (const DType from : {float32, float64, float16}) {
    for (const DType to : {uint8, int32, int64}) {
      for (const int64_t place : {int64_t{-1}, int64_t{0}, int64_t{1023}, int64_t{1024}, int64_t{2999}}) {
        const Tensor x =
            kernels::to(generate<float>({3000}, [](int64_t i) { return float(i % 200) + 0.5F; }), from);
        std::vector<double> want = values(x);
        for (double& value : want) value = std::floor(value);
        if (place >= 0) {
          kernels::fill(x.with_layout(x.layout().select(0, place)), INFINITY);
          want[static_cast<size_t>(place)] = to == uint8 ? 255 : to == int32 ? 0x1p31 - 1 : 0x1p63;
        }
        CHECK(values(kernels::to(x, to)) == want);
      }
    }
  }
}

TEST_CASE("integers become narrower ones by their low bits") {
  CHECK(values(kernels::to(make<int64_t>({3}, {300, -1, int64_t{1} << 40}), uint8)) ==
        std::vector<double>{44, 255, 0});
  CHECK(values(kernels::to(make<int64_t>({2}, {int64_t{1} << 40, INT64_MIN}), int32)) ==
        std::vector<double>{0, 0});
}
