// Mathematical functions of kernels, and numbers of 16 bits, against the host's.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <tern/tests/simgpu/programs/apply.h>

#include <cmath>
#include <random>

namespace {

template <class T, class F>
double worst_error(F function, double low, double high, double floor = 1e-30) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> values(low, high);
  std::vector<T> a;
  for (int count = 0; count < 4000; ++count) a.push_back(static_cast<T>(values(random)));
  const std::vector<T> found = on_device<T>(a, a, a, function);
  double worst = 0;
  for (size_t index = 0; index < a.size(); ++index) {
    const double wanted = function(static_cast<double>(a[index]), 0.0, 0.0);
    worst = std::max(worst, std::fabs(found[index] - wanted) / std::max(std::fabs(wanted), floor));
  }
  return worst;
}

struct Exp {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return exp(a);
  }
};
struct Log {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return log(a);
  }
};
struct Sin {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return sin(a);
  }
};
struct Cos {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return cos(a);
  }
};
struct Tanh {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return tanh(a);
  }
};
struct Erf {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return erf(a);
  }
};
struct Power {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return pow(a, T(1.7));
  }
};
struct Gamma {
  template <class T>
  __host__ __device__ T operator()(T a, T, T) const {
    return lgamma(a);
  }
};

}  // namespace

TEST_CASE("Functions of 32 bits are as good as CUDA says") {
  CHECK(worst_error<float>(Exp(), -20, 20) < 4e-7);
  CHECK(worst_error<float>(Log(), 1e-3, 100, 1e-2) < 4e-7);
  CHECK(worst_error<float>(Sin(), -1000, 1000, 1e-1) < 4e-7);
  CHECK(worst_error<float>(Cos(), -1e6, 1e6, 1e-1) < 4e-7);
  CHECK(worst_error<float>(Tanh(), -5, 5) < 4e-7);
  CHECK(worst_error<float>(Erf(), -3, 3) < 4e-7);
  CHECK(worst_error<float>(Power(), 0.1, 50) < 4e-7);
}

TEST_CASE("Functions of 64 bits call subroutines, with carry chains in them") {
  CHECK(worst_error<double>(Exp(), -200, 200) < 1e-15);
  CHECK(worst_error<double>(Log(), 1e-3, 100, 1e-2) < 1e-15);
  CHECK(worst_error<double>(Sin(), -1e3, 1e3, 1e-1) < 1e-14);
  CHECK(worst_error<double>(Sin(), -1e17, 1e17, 1e-1) < 1e-14);
  CHECK(worst_error<double>(Power(), 0.1, 1e10) < 1e-14);
  CHECK(worst_error<double>(Gamma(), 3, 50) < 1e-13);
}

namespace {

template <class T>
T narrow(float a) {
  if constexpr (std::is_same_v<T, __half>) return __float2half(a);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16(a);
}

__host__ __device__ inline float widen(__half a) { return __half2float(a); }
__host__ __device__ inline float widen(__nv_bfloat16 a) { return __bfloat162float(a); }

/// Operations on pairs of narrow numbers, with results as floats.
template <class T, class Pair>
__global__ void narrow_operations(int count, const T* a, const T* b, const T* c, float* result) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  const T x = a[index], y = b[index], z = c[index];
  const Pair pair = __hfma2(Pair(x, y), Pair(y, y), Pair(z, x));
  const float values[] = {widen(x + y),
                          widen(x - y),
                          widen(x * y),
                          widen(__hfma(x, y, z)),
                          widen(__hneg(x)),
                          widen(__habs(y)),
                          widen(__hmax(x, z)),
                          widen(__hmin(x, z)),
                          widen(pair.x),
                          widen(pair.y),
                          x < y ? 1.0F : 0.0F,
                          __heq(x, z) ? 1.0F : 0.0F,
                          widen(__hmul2(Pair(x, z), Pair(y, y)).y)};
  for (int which = 0; which < 13; ++which) result[index * 13 + which] = values[which];
}

template <class T, class Pair>
void check_narrow() {
  std::mt19937 random(5);
  std::normal_distribution<float> values(0, 3);
  std::vector<T> a, b, c;
  for (int count = 0; count < 2000; ++count) {
    a.push_back(narrow<T>(values(random)));
    b.push_back(narrow<T>(values(random)));
    c.push_back(narrow<T>(values(random)));
  }
  const DeviceArray<T> da(a), db(b), dc(c);
  const DeviceArray<float> result(a.size() * 13);
  narrow_operations<T, Pair><<<16, 128>>>(2000, da.get(), db.get(), dc.get(), result.get());
  finished();
  const std::vector<float> found = result.values();
  const auto round = [](double value) { return widen(narrow<T>(static_cast<float>(value))); };
  int wrong = 0;
  for (size_t index = 0; index < a.size(); ++index) {
    const float x = widen(a[index]), y = widen(b[index]), z = widen(c[index]);
    const double fused = std::fma(double{x}, double{y}, double{z});
    const float wanted[] = {
        round(x + y),        round(x - y),         round(x * y),   round(fused), -x,
        std::fabs(y),        std::max(x, z),       std::min(x, z), round(fused), round(double{y} * y + x),
        x < y ? 1.0F : 0.0F, x == z ? 1.0F : 0.0F, round(z * y)};
    for (int which = 0; which < 13; ++which) wrong += found[index * 13 + which] != wanted[which];
  }
  // Where the double rounding of this reference lands on a tie, it may be off by one place.
  CHECK(wrong <= 1);
}

}  // namespace

TEST_CASE("Numbers of 16 bits round once") {
  check_narrow<__half, __half2>();
  check_narrow<__nv_bfloat16, __nv_bfloat162>();
}
