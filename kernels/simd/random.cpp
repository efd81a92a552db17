#include <tern/kernels/simd/random.h>

#include <tern/core/half.h>

namespace tern::simd::TERN_ISA {
namespace {

constexpr int lanes = random_lanes;

// The lanes of one counter word; loops over them become vectors.
struct Words {
  uint32_t v[lanes];
};

[[gnu::always_inline]] inline void rounds(uint64_t seed, Words (&c)[4]) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < lanes; ++i) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c[0].v[i], product1 = uint64_t{0xCD9E8D57} * c[2].v[i];
      c[0].v[i] = static_cast<uint32_t>(product1 >> 32) ^ c[1].v[i] ^ key0;
      c[2].v[i] = static_cast<uint32_t>(product0 >> 32) ^ c[3].v[i] ^ key1;
      c[1].v[i] = static_cast<uint32_t>(product1);
      c[3].v[i] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

void words(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out) {
  for (int64_t b = 0; b < blocks; b += lanes) {
    Words c[4];
    for (int i = 0; i < lanes; ++i) {
      const uint64_t at = offset + static_cast<uint64_t>(b + i);
      c[0].v[i] = static_cast<uint32_t>(at);
      c[1].v[i] = static_cast<uint32_t>(at >> 32);
      c[2].v[i] = c[3].v[i] = 0;
    }
    rounds(seed, c);
    for (int i = 0; i < lanes; ++i) {
      for (int j = 0; j < 4; ++j) out[4 * (b + i) + j] = c[j].v[i];
    }
  }
}

template <class T, class Compute>
void dropout_as(const void* x, const uint32_t* words, uint32_t limit, double scale, void* y, int64_t count) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  const Compute factor = static_cast<Compute>(scale);
  for (int64_t i = 0; i < count; ++i) {
    const Compute scaled = static_cast<Compute>(from[i]) * factor;
    to[i] = static_cast<T>(words[i] < limit ? scaled : Compute{0});
  }
}

void dropout(DType dtype, const void* x, const uint32_t* words, uint32_t limit, double scale, void* y,
             int64_t count) {
  switch (dtype) {
    case DType::float64:
      return dropout_as<double, double>(x, words, limit, scale, y, count);
    case DType::float16:
      return dropout_as<Half, float>(x, words, limit, scale, y, count);
    case DType::bfloat16:
      return dropout_as<BFloat16, float>(x, words, limit, scale, y, count);
    default:
      return dropout_as<float, float>(x, words, limit, scale, y, count);
  }
}

}  // namespace

extern const RandomKernels random_table;
const RandomKernels random_table{words, dropout};

}  // namespace tern::simd::TERN_ISA
