// Times the float32 convolution kernels on one thread, per shape and direction, against the measured FMA
// peak.
#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/isa.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using namespace tern::simd;

namespace {

using Buffer = std::unique_ptr<float[], void (*)(void*)>;

Buffer make_buffer(int64_t floats, unsigned seed = 0) {
  const size_t bytes = (static_cast<size_t>(floats) * sizeof(float) + 127) / 64 * 64;
  Buffer buffer(static_cast<float*>(std::aligned_alloc(64, bytes)), std::free);
  std::memset(buffer.get(), 0, bytes);
  for (int64_t i = 0; seed != 0 && i < floats; ++i) {
    seed = seed * 1664525u + 1013904223u;
    buffer[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  return buffer;
}

/// The least seconds of a few calls: for at least `seconds`, and three calls.
template <class Body>
double least_seconds(const Body& body, double seconds = 0.4) {
  using Clock = std::chrono::steady_clock;
  double least = 1e30, total = 0;
  for (int i = 0; i < 4 || total < seconds; ++i) {
    const auto start = Clock::now();
    body();
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    if (i > 0) least = std::min(least, taken);
    total += taken;
  }
  return least;
}

constexpr int64_t chain_steps = 20'000'000;

/// Sums in twelve independent chains.
template <class V>
[[gnu::always_inline]] inline float run_chains(float one) {
  V sums[12];
  for (int k = 0; k < 12; ++k) sums[k] = V{} + one * static_cast<float>(k);
  const V a = V{} + one, b = V{} - one;
  for (int64_t i = 0; i < chain_steps; ++i) {
#pragma GCC unroll 12
    for (V& sum : sums) sum = sum * a + b;
  }
  float total = 0;
  for (const V& sum : sums) total += sum[0];
  return total;
}

typedef float Vec4 __attribute__((vector_size(16)));
[[gnu::noinline]] float chains_baseline(float one) { return run_chains<Vec4>(one); }
#if defined(__x86_64__)
typedef float Vec8 __attribute__((vector_size(32)));
typedef float Vec16 __attribute__((vector_size(64)));
[[gnu::noinline, gnu::target("avx2,fma")]] float chains_avx2(float one) { return run_chains<Vec8>(one); }
[[gnu::noinline, gnu::target("avx512f")]] float chains_avx512(float one) { return run_chains<Vec16>(one); }
#endif

/// GFLOP/s of multiply and add with the chosen instruction set.
double measure_peak() {
  volatile float one = 1.0f;
  volatile float sink = 0.0f;
  int64_t lanes = 4;
  float (*chains)(float) = chains_baseline;
#if defined(__x86_64__)
  const Isa isa = chosen_isa();
  if (isa == Isa::avx2) lanes = 8, chains = chains_avx2;
  if (isa == Isa::avx512) lanes = 16, chains = chains_avx512;
#endif
  const double seconds = least_seconds([&] { sink = chains(one); });
  (void)sink;
  return 2.0 * 12 * static_cast<double>(lanes * chain_steps) / seconds / 1e9;
}

struct Case {
  const char* name;
  ConvShape shape;
};

ConvShape square(int64_t n, int64_t size, int64_t ic, int64_t oc, int64_t kernel, int64_t stride,
                 bool pool = false) {
  const int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  return {n, size, size, ic, out, out, oc, kernel, kernel, stride, stride, pad, pad, pool};
}

/// Everything that one shape's calls need.
struct Setup {
  const ConvKernels& k = conv_kernels();
  ConvShape s;
  WeightStrides strides = {s.ic * s.kh * s.kw, 1, s.kw* s.ic, s.ic};
  int64_t outputs = s.n * (s.pool ? s.oh / 2 * (s.ow / 2) : s.oh * s.ow) * s.oc;
  int64_t weights = s.oc * s.ic * s.kh * s.kw;
  Buffer x = make_buffer(s.n * s.h * s.w * s.ic, 1), dx = make_buffer(s.n * s.h * s.w * s.ic);
  Buffer w = make_buffer(weights, 2), dw = make_buffer(weights), bias = make_buffer(s.oc, 3),
         db = make_buffer(s.oc);
  Buffer y = make_buffer(outputs), dy = make_buffer(outputs, 4);
  std::vector<uint8_t> argmax = std::vector<uint8_t>(s.pool ? outputs : 0);
  Buffer packed = make_buffer(std::max(k.forward_packed(s), k.backward_data_packed(s)));
  Buffer partials = make_buffer(k.backward_weight_partials(s));
  Buffer scratch =
      make_buffer(std::max({k.forward_scratch(s), k.backward_data_scratch(s), k.backward_weight_scratch(s)}));

  explicit Setup(const ConvShape& shape) : s(shape) {}

  void forward() {
    k.pack_forward(s, w.get(), strides, packed.get(), 0, k.pack_forward_items(s));
    k.forward({s, x.get(), packed.get(), bias.get(), true, y.get(), argmax.data()}, 0, k.forward_items(s),
              scratch.get());
  }
  ConvOutputGradient gradient() const { return {dy.get(), y.get(), argmax.data()}; }
  void backward_data() {
    k.pack_backward_data(s, w.get(), strides, packed.get(), 0, k.pack_backward_data_items(s));
    k.backward_data({s, gradient(), packed.get(), x.get(), dx.get()}, 0, k.backward_data_items(s),
                    scratch.get());
  }
  void backward_weight() {
    k.backward_weight({s, gradient(), x.get(), partials.get()}, 0, k.backward_weight_items(s), scratch.get());
    k.reduce_weight(s, partials.get(), dw.get(), strides, db.get(), 0, k.reduce_weight_items(s));
  }
};

void print(const char* direction, double flops, double seconds, double peak) {
  const double rate = flops / seconds / 1e9;
  std::printf(" | %s %7.2f ms %6.1f GFLOP/s %3.0f %%", direction, seconds * 1e3, rate, 100 * rate / peak);
}

void time_case(const Case& c, double peak) {
  Setup setup(c.shape);
  const ConvShape& s = c.shape;
  const double flops = 2.0 * static_cast<double>(s.n * s.oh * s.ow) * static_cast<double>(setup.weights);
  std::printf("%-26s", c.name);
  print("y", flops, least_seconds([&] { setup.forward(); }), peak);
  if (s.ic > 3) print("dx", flops, least_seconds([&] { setup.backward_data(); }), peak);
  print("dw", flops, least_seconds([&] { setup.backward_weight(); }), peak);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

/// Percentages are of the dense products: with a pool the gradients compute a quarter of them and may pass
/// 100 %.
int main(int argc, char** argv) {
  const Case cases[] = {
      {"conv1 3>32 3x3 32 n128", square(128, 32, 3, 32, 3, 1)},
      {"conv2 32>64 3x3 32 n128", square(128, 32, 32, 64, 3, 1)},
      {"conv2 + pool", square(128, 32, 32, 64, 3, 1, true)},
      {"64>64 3x3 56 n4", square(4, 56, 64, 64, 3, 1)},
      {"128>128 3x3 28 n8", square(8, 28, 128, 128, 3, 1)},
      {"256>256 3x3 14 n16", square(16, 14, 256, 256, 3, 1)},
      {"512>512 3x3 7 n32", square(32, 7, 512, 512, 3, 1)},
      {"64>128 3x3 s2 56 n8", square(8, 56, 64, 128, 3, 2)},
      {"256>512 3x3 s2 14 n16", square(16, 14, 256, 512, 3, 2)},
      {"64>256 1x1 56 n4", square(4, 56, 64, 256, 1, 1)},
      {"512>128 1x1 28 n8", square(8, 28, 512, 128, 1, 1)},
      {"256>512 1x1 s2 56 n4", square(4, 56, 256, 512, 1, 2)},
      {"3>64 7x7 s2 224 n2", square(2, 224, 3, 64, 7, 2)},
      {"1>6 5x5 + pool 28 n128", square(128, 28, 1, 6, 5, 1, true)},
      {"3>32 3x3 + pool 32 n128", square(128, 32, 3, 32, 3, 1, true)},
      {"64>64 3x3 + pool 28 n16", square(16, 28, 64, 64, 3, 1, true)},
  };
  const double peak = measure_peak();
  std::printf("peak %.1f GFLOP/s\n", peak);
  for (const Case& c : cases) {
    if (argc < 2 || std::strstr(c.name, argv[1])) time_case(c, peak);
  }
}
