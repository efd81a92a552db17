// The float32 max pool kernels against loops.
#include <doctest/doctest.h>
#include <tern/kernels/simd/pool.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

using namespace tern::simd;

namespace {

/// Few different values, so that windows hold ties.
std::vector<float> coarse_floats(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random() % 8) - 5.0f;
  return values;
}

PoolShape make_shape(int64_t n, int64_t h, int64_t w, int64_t c, int64_t kh, int64_t kw, int64_t stride,
                     int64_t pad_h, int64_t pad_w) {
  return {n,
          h,
          w,
          c,
          (h + 2 * pad_h - kh) / stride + 1,
          (w + 2 * pad_w - kw) / stride + 1,
          kh,
          kw,
          stride,
          stride,
          pad_h,
          pad_w};
}

/// Where in x place `place` of the window of output (n, p, q), channel c, lies; -1 in the padding.
int64_t source(const PoolShape& s, int64_t output, int64_t place) {
  const int64_t c = output % s.c, pixel = output / s.c;
  const int64_t row = pixel / s.ow % s.oh * s.stride_h - s.pad_h + place / s.kw;
  const int64_t col = pixel % s.ow * s.stride_w - s.pad_w + place % s.kw;
  if (row < 0 || row >= s.h || col < 0 || col >= s.w) return -1;
  return ((pixel / (s.ow * s.oh) * s.h + row) * s.w + col) * s.c + c;
}

template <class Index>
const MaxPool<Index>& kernels() {
  if constexpr (std::is_same_v<Index, uint8_t>) {
    return pool_kernels().max_small;
  } else {
    return pool_kernels().max_large;
  }
}

template <class Index>
void check_pool(const PoolShape& s) {
  INFO("h ", s.h, " w ", s.w, " c ", s.c, " kernel ", s.kh, " ", s.kw, " stride ", s.stride_h, " pad ",
       s.pad_h);
  const int64_t inputs = s.n * s.h * s.w * s.c, outputs = s.n * s.oh * s.ow * s.c;
  const std::vector<float> x = coarse_floats(inputs, 1), dy = coarse_floats(outputs, 2);
  std::vector<float> y(outputs), split_y(outputs), dx(inputs, 9.0f), split_dx(inputs, 9.0f), want_dx(inputs);
  std::vector<Index> argmax(outputs), split_argmax(outputs);
  kernels<Index>().forward(s, x.data(), y.data(), argmax.data(), 0, s.n * s.oh);
  for (int64_t i = s.n * s.oh - 1; i >= 0; --i) {
    kernels<Index>().forward(s, x.data(), split_y.data(), split_argmax.data(), i, i + 1);
  }
  CHECK(y == split_y);
  CHECK(argmax == split_argmax);
  int64_t wrong = 0;
  for (int64_t i = 0; i < outputs; ++i) {
    int64_t best = -1;
    for (int64_t place = 0; place < s.kh * s.kw; ++place) {
      const int64_t at = source(s, i, place);
      if (at >= 0 && (best < 0 || x[at] > x[source(s, i, best)])) best = place;
    }
    wrong += argmax[i] != best || y[i] != x[source(s, i, best)];
    want_dx[source(s, i, best)] += dy[i];
  }
  CHECK(wrong == 0);
  kernels<Index>().backward(s, dy.data(), argmax.data(), dx.data(), 0, s.n * s.h);
  for (int64_t i = s.n * s.h - 1; i >= 0; --i) {
    kernels<Index>().backward(s, dy.data(), argmax.data(), split_dx.data(), i, i + 1);
  }
  CHECK(dx == want_dx);
  CHECK(dx == split_dx);
}

}  // namespace

TEST_CASE("simd max pool: every kernel, stride and padding equals the loops") {
  for (int64_t kernel : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad = 0; pad <= kernel / 2; ++pad) {
        check_pool<uint8_t>(make_shape(2, 9, 11, 5, kernel, kernel, stride, pad, pad));
        check_pool<int32_t>(make_shape(2, 7, 8, 33, kernel, 6 - kernel, stride, pad, 0));
      }
    }
  }
}

TEST_CASE("simd max pool: every channel count and windows as large as the image equal the loops") {
  for (int64_t c = 1; c <= 70; ++c) check_pool<uint8_t>(make_shape(2, 6, 7, c, 2, 2, 2, 0, 0));
  check_pool<uint8_t>(make_shape(1, 16, 16, 3, 16, 16, 1, 0, 0));
  check_pool<int32_t>(make_shape(1, 20, 30, 3, 20, 30, 1, 0, 0));
  check_pool<uint8_t>(make_shape(1, 1, 1, 1, 1, 1, 1, 0, 0));
  check_pool<uint8_t>(make_shape(0, 4, 4, 8, 2, 2, 2, 0, 0));
}

TEST_CASE("simd max pool: NaN is chosen and minus infinity is a value") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const PoolShape s = make_shape(1, 2, 2, 1, 2, 2, 2, 0, 0);
  float y = 0;
  uint8_t argmax = 0;
  auto pool = [&](std::vector<float> x) { kernels<uint8_t>().forward(s, x.data(), &y, &argmax, 0, 1); };
  pool({1, nan, infinity, 2});
  CHECK(std::isnan(y));
  CHECK(argmax == 1);
  pool({nan, 1, nan, 2});
  CHECK(argmax == 2);
  pool({-infinity, -infinity, -infinity, -infinity});
  CHECK(y == -infinity);
  CHECK(argmax == 0);
}
