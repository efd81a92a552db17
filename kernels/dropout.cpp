#include <tern/kernels/dropout.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/random.h>

namespace tern::kernels {
namespace {

constexpr int64_t chunk = 1024;
static_assert(chunk % (4 * simd::random_lanes) == 0 && iterate_block % 4 == 0);

// Elements that lie in row-major order.
void drop(DType dtype, const void* x, void* y, int64_t numel, double p, RandomState state) {
  const auto& simd = simd::random_kernels();
  const auto limit = static_cast<uint32_t>((1 - p) * 0x1p32);
  const auto bytes = static_cast<int64_t>(size_of(dtype));
  parallel_for(numel, iterate_block, [&](int64_t begin, int64_t end) {
    uint32_t words[chunk];
    for (int64_t i = begin; i < end; i += chunk) {
      const int64_t count = std::min(chunk, end - i);
      simd.words(state.seed, state.offset + static_cast<uint64_t>(i / 4), (count + 3) / 4, words);
      simd.dropout(dtype, static_cast<const char*>(x) + i * bytes, words, limit, 1 / (1 - p),
                   static_cast<char*>(y) + i * bytes, count);
    }
  });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, RandomState state) {
  check(p >= 0 && p <= 1, "dropout: p must be from 0 to 1, got ", p);
  check(is_floating_point(x.dtype()), "dropout: needs a floating-point tensor, got ", x.dtype());
  check_device_kernels(x.device(), "dropout");
  if (1 - p == 1) return clone(x);
  const Tensor y = empty_like(x);
  if (p == 1) {
    zero(y);
    return y;
  }
  // Another order is brought to row-major order and back: the random numbers come in that order.
  const Tensor ordered = contiguous(x);
  const Tensor result = y.is_contiguous() ? y : ordered;
  drop(x.dtype(), ordered.data(), result.data(), x.numel(), p, state);
  if (!result.is_same(y)) copy(result, y);
  return y;
}

}  // namespace tern::kernels
