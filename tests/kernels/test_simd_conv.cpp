// The float32 convolution kernels against loops in double precision.
#include <doctest/doctest.h>
#include <tern/kernels/simd/conv.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <vector>

using namespace tern::simd;

namespace {

/// Floats at a 64-byte boundary that start as NaN, so that a kernel relying on initial values fails.
class Floats {
 public:
  explicit Floats(int64_t count) : data_(count + 16, std::numeric_limits<float>::quiet_NaN()) {}
  float* get() {
    const auto address = reinterpret_cast<uintptr_t>(data_.data());
    return data_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> data_;
};

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(generator() >> 8) / 8388608.0f - 1.0f;
  return values;
}

ConvShape make_shape(int64_t n, int64_t h, int64_t w, int64_t ic, int64_t oc, int64_t kh, int64_t kw,
                     int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, bool pool = false) {
  const int64_t oh = (h + 2 * pad_h - kh) / stride_h + 1, ow = (w + 2 * pad_w - kw) / stride_w + 1;
  return {n, h, w, ic, oh, ow, oc, kh, kw, stride_h, stride_w, pad_h, pad_w, pool};
}

std::string name_of(const ConvShape& s) {
  std::string name;
  for (int64_t v : {s.n, s.h, s.w, s.ic, s.oc, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_h, s.pad_w}) {
    name += std::to_string(v) + " ";
  }
  return name + (s.pool ? "pool" : "");
}

WeightStrides oihw(const ConvShape& s) { return {s.ic * s.kh * s.kw, s.kh * s.kw, s.kw, 1}; }
WeightStrides ohwi(const ConvShape& s) { return {s.ic * s.kh * s.kw, 1, s.kw * s.ic, s.ic}; }

int64_t pooled_size(const ConvShape& s) {
  return s.n * (s.pool ? (s.oh / 2) * (s.ow / 2) : s.oh * s.ow) * s.oc;
}

/// Calls visit(index of x, index of y, index of w) for every product of the convolution.
template <class Visit>
void for_each_product(const ConvShape& s, const WeightStrides& strides, const Visit& visit) {
  for (int64_t i = 0; i < s.n * s.oh * s.ow; ++i) {
    const int64_t n = i / (s.oh * s.ow), p = i / s.ow % s.oh, q = i % s.ow;
    for (int64_t k = 0; k < s.kh * s.kw; ++k) {
      const int64_t r = k / s.kw, c = k % s.kw;
      const int64_t row = p * s.stride_h - s.pad_h + r, col = q * s.stride_w - s.pad_w + c;
      if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
      const int64_t x = ((n * s.h + row) * s.w + col) * s.ic, w = r * strides.kh + c * strides.kw;
      for (int64_t o = 0; o < s.oc; ++o) {
        for (int64_t ic = 0; ic < s.ic; ++ic)
          visit(x + ic, i * s.oc + o, w + o * strides.oc + ic * strides.ic);
      }
    }
  }
}

/// Runs the items in one call, or each alone and backwards with fresh scratch.
template <class Args>
void run(void (*compute)(const Args&, int64_t, int64_t, float*), const Args& args, int64_t items,
         int64_t scratch, bool split) {
  if (!split) return compute(args, 0, items, Floats(scratch).get());
  for (int64_t item = items - 1; item >= 0; --item) compute(args, item, item + 1, Floats(scratch).get());
}

struct Output {
  std::vector<float> y;
  std::vector<uint8_t> argmax;
};

Output forward(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
               const WeightStrides& strides, const float* bias, bool relu, bool split) {
  const ConvKernels& k = conv_kernels();
  Floats packed(k.forward_packed(s));
  k.pack_forward(s, w.data(), strides, packed.get(), 0, k.pack_forward_items(s));
  Output out = {std::vector<float>(pooled_size(s), -7.0f),
                std::vector<uint8_t>(s.pool ? pooled_size(s) : 0, 9)};
  const ConvForward args = {s, x.data(), packed.get(), bias, relu, out.y.data(), out.argmax.data()};
  run(k.forward, args, k.forward_items(s), k.forward_scratch(s), split);
  return out;
}

std::vector<float> backward_data(const ConvShape& s, const ConvOutputGradient& gradient,
                                 const std::vector<float>& w, const WeightStrides& strides, const float* mask,
                                 bool split) {
  const ConvKernels& k = conv_kernels();
  Floats packed(k.backward_data_packed(s));
  for (int64_t i = k.pack_backward_data_items(s) - 1; i >= 0; --i) {
    k.pack_backward_data(s, w.data(), strides, packed.get(), i, i + 1);
  }
  std::vector<float> dx(s.n * s.h * s.w * s.ic, -7.0f);
  const ConvBackwardData args = {s, gradient, packed.get(), mask, dx.data()};
  run(k.backward_data, args, k.backward_data_items(s), k.backward_data_scratch(s), split);
  return dx;
}

struct WeightGradient {
  std::vector<float> dw, db;
};

WeightGradient backward_weight(const ConvShape& s, const ConvOutputGradient& gradient,
                               const std::vector<float>& x, const WeightStrides& strides, bool split) {
  const ConvKernels& k = conv_kernels();
  Floats partials(k.backward_weight_partials(s));
  const ConvBackwardWeight args = {s, gradient, x.data(), partials.get()};
  run(k.backward_weight, args, k.backward_weight_items(s), k.backward_weight_scratch(s), split);
  WeightGradient out = {std::vector<float>(s.oc * s.ic * s.kh * s.kw, -7.0f),
                        std::vector<float>(s.oc, -7.0f)};
  const int64_t items = k.reduce_weight_items(s), cut = split ? items / 2 : 0;
  k.reduce_weight(s, partials.get(), out.dw.data(), strides, out.db.data(), cut, items);
  k.reduce_weight(s, partials.get(), out.dw.data(), strides, out.db.data(), 0, cut);
  return out;
}

/// The largest difference in units of what sums of `terms` rounded products may differ by.
double distance(const std::vector<float>& got, const std::vector<double>& want, int64_t terms) {
  double worst = got.size() == want.size() ? 0 : 1e9;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(got[i] - want[i]);
    worst = difference <= worst ? worst : difference;  // NaN sticks
  }
  return worst / (3e-6 * (1 + std::sqrt(static_cast<double>(terms))));
}

/// The unpooled gradient: dy where the ReLU let y pass, at the maxima when there is a pool.
std::vector<double> effective_gradient(const ConvShape& s, const ConvOutputGradient& g) {
  std::vector<double> dy(s.n * s.oh * s.ow * s.oc);
  for (int64_t i = 0; i < pooled_size(s); ++i) {
    const double value = g.y && g.y[i] <= 0 ? 0.0 : g.dy[i];
    if (!s.pool) {
      dy[i] = value;
      continue;
    }
    const int64_t pw = s.ow / 2, ph = s.oh / 2, pixel = i / s.oc;
    const int64_t row = pixel / pw % ph * 2 + g.argmax[i] / 2, col = pixel % pw * 2 + g.argmax[i] % 2;
    dy[((pixel / (pw * ph) * s.oh + row) * s.ow + col) * s.oc + i % s.oc] = value;
  }
  return dy;
}

void check_forward(const ConvShape& s, bool with_bias, bool relu) {
  const auto x = random_floats(s.n * s.h * s.w * s.ic, 1), w = random_floats(s.oc * s.ic * s.kh * s.kw, 2);
  const auto bias = random_floats(s.oc, 3);
  const WeightStrides strides = relu ? ohwi(s) : oihw(s);
  const float* b = with_bias ? bias.data() : nullptr;
  const Output whole = forward(s, x, w, strides, b, relu, false),
               split = forward(s, x, w, strides, b, relu, true);
  CHECK(whole.y == split.y);
  std::vector<double> want(s.n * s.oh * s.ow * s.oc);
  for (size_t i = 0; b && i < want.size(); ++i) want[i] = bias[i % s.oc];
  for_each_product(s, strides, [&](int64_t xi, int64_t yi, int64_t wi) {
    want[yi] += static_cast<double>(x[xi]) * w[wi];
  });
  for (double& v : want) v = relu ? std::max(v, 0.0) : v;
  CHECK(distance(whole.y, want, s.ic * s.kh * s.kw) < 1);
}

/// Pooling inside the convolution gives the bits of pooling after it.
void check_pooled_forward(const ConvShape& s, bool relu) {
  const auto x = random_floats(s.n * s.h * s.w * s.ic, 1), w = random_floats(s.oc * s.ic * s.kh * s.kw, 2);
  const auto bias = random_floats(s.oc, 3);
  ConvShape plain = s;
  plain.pool = false;
  const std::vector<float> y = forward(plain, x, w, oihw(s), bias.data(), relu, false).y;
  const Output got = forward(s, x, w, oihw(s), bias.data(), relu, false);
  const Output split = forward(s, x, w, oihw(s), bias.data(), relu, true);
  CHECK(got.y == split.y);
  CHECK(got.argmax == split.argmax);
  int64_t wrong = 0;
  for (int64_t i = 0; i < pooled_size(s); ++i) {
    const int64_t pw = s.ow / 2, ph = s.oh / 2, pixel = i / s.oc;
    const int64_t row = pixel / pw % ph * 2, col = pixel % pw * 2, n = pixel / (pw * ph);
    auto at = [&](int64_t k) { return y[((n * s.oh + row + k / 2) * s.ow + col + k % 2) * s.oc + i % s.oc]; };
    int64_t best = 0;
    for (int64_t k = 1; k < 4; ++k) best = at(k) > at(best) ? k : best;
    wrong += got.argmax[i] != best || got.y[i] != at(best);
  }
  CHECK(wrong == 0);
}

void check_backward(const ConvShape& s, bool with_y, bool with_mask) {
  const auto x = random_floats(s.n * s.h * s.w * s.ic, 1), w = random_floats(s.oc * s.ic * s.kh * s.kw, 2);
  const auto dy = random_floats(pooled_size(s), 4), y = random_floats(pooled_size(s), 5);
  std::vector<uint8_t> argmax(dy.size());
  for (size_t i = 0; i < argmax.size(); ++i)
    argmax[i] = static_cast<uint8_t>(std::lrint(std::fabs(dy[i]) * 4095) % 4);
  const ConvOutputGradient gradient = {dy.data(), with_y ? y.data() : nullptr,
                                       s.pool ? argmax.data() : nullptr};
  const std::vector<double> effective = effective_gradient(s, gradient);
  const WeightStrides strides = with_y ? ohwi(s) : oihw(s);
  std::vector<double> dx(x.size()), dw(w.size()), db(s.oc);
  for_each_product(s, strides, [&](int64_t xi, int64_t yi, int64_t wi) {
    dx[xi] += effective[yi] * w[wi];
    dw[wi] += effective[yi] * x[xi];
  });
  for (size_t i = 0; i < effective.size(); ++i) db[i % s.oc] += effective[i];
  for (size_t i = 0; with_mask && i < x.size(); ++i) dx[i] = x[i] > 0 ? dx[i] : 0.0;

  const float* mask = with_mask ? x.data() : nullptr;
  const auto data = backward_data(s, gradient, w, strides, mask, false);
  CHECK(data == backward_data(s, gradient, w, strides, mask, true));
  CHECK(distance(data, dx, s.oc * s.kh * s.kw) < 1);
  const WeightGradient weight = backward_weight(s, gradient, x, strides, false);
  const WeightGradient split = backward_weight(s, gradient, x, strides, true);
  CHECK(weight.dw == split.dw);
  CHECK(weight.db == split.db);
  CHECK(distance(weight.dw, dw, s.n * s.oh * s.ow) < 1);
  CHECK(distance(weight.db, db, s.n * s.oh * s.ow) < 1);
}

void check_all(const ConvShape& s) {
  INFO("n h w ic oc kh kw stride_h stride_w pad_h pad_w: ", name_of(s));
  if (s.pool) {
    check_pooled_forward(s, true);
    check_pooled_forward(s, false);
  } else {
    check_forward(s, true, true);
    check_forward(s, false, false);
  }
  check_backward(s, false, false);
  check_backward(s, true, true);
}

/// A shape with a few thousand to a million products.
ConvShape random_shape(std::mt19937& random, bool pool) {
  auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  const int64_t kernels[] = {1, 2, 3, 5, 7};
  while (true) {
    const int64_t kh = kernels[between(0, 4)], kw = kernels[between(0, 4)];
    const int64_t h = between(1, 20), w = between(1, 20), pad_h = between(0, 3), pad_w = between(0, 3);
    if (h + 2 * pad_h < kh || w + 2 * pad_w < kw) continue;
    const ConvShape s = make_shape(between(1, 3), h, w, between(1, 70), between(1, 70), kh, kw, between(1, 3),
                                   between(1, 3), pad_h, pad_w, pool);
    if (s.n * s.oh * s.ow * s.ic * s.oc * kh * kw < 600000) return s;
  }
}

}  // namespace

TEST_CASE("simd convolution: every kernel size, stride and padding equals the loops") {
  for (int64_t kernel : {1, 2, 3, 5, 7}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 1, 2, 3})
        check_all(make_shape(2, 8, 9, 5, 11, kernel, kernel, stride, stride, pad, pad));
    }
  }
}

TEST_CASE("simd convolution: every tail of channels equals the loops") {
  for (int64_t c = 1; c <= 70; ++c) {
    check_all(make_shape(1, 5, 6, c, 71 - c, 3, 3, 1, 1, 1, 1));
    check_all(make_shape(1, 4, 4, c, 17, 1, 1, 1, 1, 0, 0));
  }
}

TEST_CASE("simd convolution: random shapes equal the loops") {
  std::mt19937 random(7);
  for (int i = 0; i < 150; ++i) check_all(random_shape(random, false));
}

TEST_CASE("simd convolution: shapes with many slices, blocks of rows and images equal the loops") {
  check_all(make_shape(1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0));
  check_all(make_shape(3, 32, 32, 3, 32, 3, 3, 1, 1, 1, 1));
  check_all(make_shape(1, 3, 4, 200, 150, 3, 3, 1, 1, 1, 1));
  check_all(make_shape(5, 2, 2, 520, 130, 1, 1, 1, 1, 0, 0));
  check_all(make_shape(1, 40, 300, 3, 4, 7, 7, 2, 2, 3, 3));
  check_all(make_shape(70, 3, 3, 8, 8, 3, 3, 1, 1, 1, 1));
  check_all(make_shape(0, 3, 3, 8, 8, 3, 3, 1, 1, 1, 1));
}

TEST_CASE("simd convolution: a pool inside equals a pool after") {
  std::mt19937 random(9);
  for (int64_t size : {2, 3, 4, 5, 8})
    check_all(make_shape(2, size, size + 1, 16, 24, 3, 3, 1, 1, 1, 1, true));
  for (int64_t c : {1, 3, 8, 20, 32, 33, 64}) check_all(make_shape(1, 6, 8, c, 40, 3, 3, 1, 1, 1, 1, true));
  check_all(make_shape(2, 32, 32, 32, 16, 3, 3, 1, 1, 1, 1, true));
  check_all(make_shape(9, 4, 4, 203, 45, 3, 3, 1, 1, 1, 1, true));
  for (int i = 0; i < 100; ++i) check_all(random_shape(random, true));
}

TEST_CASE("simd convolution: NaN and infinity pass through bias, ReLU and pool") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  ConvShape s = make_shape(1, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0);
  const std::vector<float> w = {1.0f};
  const std::vector<float> x = {-infinity, nan, infinity, -1.0f};
  const Output plain = forward(s, x, w, oihw(s), nullptr, true, false);
  CHECK(plain.y[0] == 0.0f);
  CHECK(std::isnan(plain.y[1]));
  CHECK(plain.y[2] == infinity);
  CHECK(plain.y[3] == 0.0f);
  s.pool = true;
  const Output pooled = forward(s, x, w, oihw(s), nullptr, true, false);
  CHECK(std::isnan(pooled.y[0]));
  CHECK(pooled.argmax[0] == 1);
  CHECK(
      forward(s, {-infinity, -infinity, -infinity, -infinity}, w, oihw(s), nullptr, false, false).argmax[0] ==
      0);
  CHECK(forward(s, {nan, 1, nan, 2}, w, oihw(s), nullptr, false, false).argmax[0] == 2);
  CHECK(forward(s, {3, 5, 5, 4}, w, oihw(s), nullptr, false, false).argmax[0] == 1);
}

TEST_CASE("simd convolution: a padded border stays zero beside infinite values") {
  const float infinity = std::numeric_limits<float>::infinity();
  const ConvShape s = make_shape(1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1);
  const std::vector<float> y =
      forward(s, {2.0f}, {1, 1, 1, 1, infinity, 1, 1, 1, 1}, oihw(s), nullptr, false, false).y;
  CHECK(y[0] == infinity);
}
