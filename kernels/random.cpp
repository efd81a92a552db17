#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/random.h>

#include <cmath>

namespace tern::kernels {
namespace {

constexpr int64_t chunk_blocks = 256;

// What one distribution makes of blocks of four 32-bit numbers: `per_block` values from each.
template <class Value>
struct Uniform {
  static constexpr int per_block = sizeof(Value) == 8 ? 2 : 4;
  Value low, width;
  void operator()(const uint32_t* words, Value* values) const {
    for (int i = 0; i < per_block; ++i) {
      if constexpr (per_block == 2)
        values[i] = low + width * uniform_double(words[2 * i], words[2 * i + 1]);
      else
        values[i] = low + width * uniform_float(words[i]);
    }
  }
};

template <class Value>
struct Normal {
  static constexpr int per_block = sizeof(Value) == 8 ? 2 : 4;
  Value mean, std;
  void operator()(const uint32_t* words, Value* values) const {
    const RandomBlock block{words[0], words[1], words[2], words[3]};
    if constexpr (per_block == 2) {
      const auto numbers = normal_doubles(block);
      for (int i = 0; i < 2; ++i) values[i] = mean + std * numbers[static_cast<size_t>(i)];
    } else {
      const auto numbers = normal_floats(block);
      for (int i = 0; i < 4; ++i) values[i] = mean + std * numbers[static_cast<size_t>(i)];
    }
  }
};

uint64_t below(uint64_t bound, const uint32_t* words) {
  const uint64_t bits = uint64_t{words[1]} << 32 | words[0];
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

struct Integers {
  static constexpr int per_block = 2;
  int64_t low;
  uint64_t bound;
  void operator()(const uint32_t* words, int64_t* values) const {
    for (int i = 0; i < 2; ++i) {
      values[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + below(bound, words + 2 * i));
    }
  }
};

struct Bernoulli {
  static constexpr int per_block = 4;
  uint64_t limit;  // of 2^32
  void operator()(const uint32_t* words, float* values) const {
    for (int i = 0; i < 4; ++i) values[i] = words[i] < limit ? 1.0f : 0.0f;
  }
};

// Where the numbers go: elements of dst through `convert`, from the type that the distribution computes in.
struct Target {
  char* data;
  int64_t bytes;  // of an element
  ConvertRow convert;
};

// Numbers first, …, first + count - 1 of the operation to places `stride` apart.
template <class Value, class Distribution>
void generate_run(const Distribution& distribution, RandomState state, int64_t first, int64_t count,
                  const Target& target, int64_t offset, int64_t stride) {
  constexpr int64_t per = Distribution::per_block;
  uint32_t words[4 * chunk_blocks];
  Value values[per * chunk_blocks];
  while (count > 0) {
    const int64_t block = first / per, skip = first % per;
    const int64_t blocks = std::min(chunk_blocks, (skip + count + per - 1) / per);
    simd::random_kernels().words(state.seed, state.offset + static_cast<uint64_t>(block), blocks, words);
    for (int64_t b = 0; b < blocks; ++b) distribution(words + 4 * b, values + per * b);
    const int64_t made = std::min(blocks * per - skip, count);
    target.convert(values + skip, 1, target.data + offset * target.bytes, stride, made);
    first += made, count -= made, offset += made * stride;
  }
}

template <class Value, class Distribution>
void generate(const Tensor& dst, const Distribution& distribution, Generator& generator) {
  const RandomState state = generator.reserve(dst.numel() * (4 / Distribution::per_block));
  const Layout order(dst.shape());
  const IteratePlan plan = make_plan(dst.shape(), {&dst.layout(), &order});
  const Target target{static_cast<char*>(dst.data()), static_cast<int64_t>(size_of(dst.dtype())),
                      convert_row(dtype_of<Value>(), dst.dtype())};
  for_each_row(plan, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    const int64_t step = strides[1] == 1 ? count : 1;  // numbers whose elements follow each other
    for (int64_t i = 0; i < count; i += step) {
      generate_run<Value>(distribution, state, offsets[1] + i * strides[1], step, target,
                          offsets[0] + i * strides[0], strides[0]);
    }
  });
}

void prepare(const Tensor& dst, const char* operation) {
  check_device_kernels(dst.device(), operation);
  check_no_overlap(dst, operation);
  dst.bump_version();
}

// Calls body with the type to compute in.
template <class Body>
void dispatch_compute(DType dtype, const char* operation, Body&& body) {
  check(is_floating_point(dtype), operation, ": needs a floating-point tensor, got ", dtype);
  if (dtype == float64) return body.template operator()<double>();
  body.template operator()<float>();
}

}  // namespace

void uniform(const Tensor& dst, double low, double high, Generator& generator) {
  check(low <= high, "uniform: low must not exceed high, got ", low, " and ", high);
  prepare(dst, "uniform");
  dispatch_compute(dst.dtype(), "uniform", [&]<class T>() {
    check(std::isfinite(T(high) - T(low)), "uniform: the range from ", low, " to ", high, " is too wide for ",
          dst.dtype());
    generate<T>(dst, Uniform<T>{T(low), T(high) - T(low)}, generator);
  });
}

void normal(const Tensor& dst, double mean, double std, Generator& generator) {
  check(std >= 0, "normal: std must not be negative, got ", std);
  prepare(dst, "normal");
  dispatch_compute(dst.dtype(), "normal", [&]<class T>() {
    generate<T>(dst, Normal<T>{T(mean), T(std)}, generator);
  });
}

void randint(const Tensor& dst, int64_t low, int64_t high, Generator& generator) {
  check(low < high, "randint: low must be below high, got ", low, " and ", high);
  check(dst.dtype() != boolean, "randint: needs a number type, got bool");
  Scalar(low).check_fits(dst.dtype(), "randint");
  Scalar(high - 1).check_fits(dst.dtype(), "randint");
  prepare(dst, "randint");
  const Integers integers{low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
  generate<int64_t>(dst, integers, generator);
}

void bernoulli(const Tensor& dst, double p, Generator& generator) {
  check(p >= 0 && p <= 1, "bernoulli: p must be from 0 to 1, got ", p);
  prepare(dst, "bernoulli");
  const Bernoulli coin{static_cast<uint64_t>(p * 0x1p32)};
  generate<float>(dst, coin, generator);
}

// Fisher and Yates: place i is swapped with one of those from i on.
Tensor randperm(int64_t n, Generator& generator, Device device) {
  check(n >= 0, "randperm: n must not be negative, got ", n);
  check_device_kernels(device, "randperm");
  const Tensor y = arange(0, n, 1, int64, device);
  const RandomState state = generator.reserve(2 * n);
  int64_t* values = y.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    const RandomBlock block = Philox::block(state.seed, 0, state.offset + static_cast<uint64_t>(i / 2));
    const uint64_t step = below(static_cast<uint64_t>(n - i), block.data() + 2 * (i % 2));
    std::swap(values[i], values[i + static_cast<int64_t>(step)]);
  }
  return y;
}

}  // namespace tern::kernels
