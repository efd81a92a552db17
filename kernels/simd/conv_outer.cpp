#include <tern/kernels/simd/conv_outer.h>

namespace tern::simd::TERN_ISA {
namespace {

template <int P, int V>
[[gnu::always_inline]] inline void add_pixel(const float* const* x, int64_t at, const float* dy,
                                             Vec (*acc)[V]) {
  Vec d[V];
  TERN_UNROLL
  for (int v = 0; v < V; ++v) d[v] = load(dy + v * vec_floats);
  TERN_UNROLL
  for (int p = 0; p < P; ++p) {
    const Vec b = broadcast(x[p][at]);
    TERN_UNROLL
    for (int v = 0; v < V; ++v) acc[p][v] += b * d[v];
  }
}

template <int P, int V>
void compute(const ConvOuter& outer) {
  constexpr int width = V * vec_floats;
  Vec acc[P][V];
  const float* x[P];
  TERN_UNROLL
  for (int p = 0; p < P; ++p) {
    x[p] = outer.x + outer.k_offset[p];
    TERN_UNROLL
    for (int v = 0; v < V; ++v) acc[p][v] = Vec{};
  }
  const float* dy = outer.dy;
  const int64_t step = outer.x_step;
  for (int64_t r = 0; r < outer.rows; ++r) {
    int64_t at = outer.row_offset[r];
    for (const float* const end = dy + outer.cols / 2 * 2 * width; dy != end;
         dy += 2 * width, at += 2 * step) {
      add_pixel<P, V>(x, at, dy, acc);
      add_pixel<P, V>(x, at + step, dy + width, acc);
    }
    if (outer.cols % 2 == 0) continue;
    add_pixel<P, V>(x, at, dy, acc);
    dy += width;
  }
  TERN_UNROLL
  for (int p = 0; p < P; ++p) {
    TERN_UNROLL
    for (int v = 0; v < V; ++v) {
      float* const dw = outer.dw + (p * V + v) * vec_floats;
      store(dw, load(dw) + acc[p][v]);
    }
  }
}

template <int V, int P = 1>
ConvOuterFunction pick(int k) {
  if constexpr (P < max_pixels(V)) {
    if (k > P) return pick<V, P + 1>(k);
  }
  return compute<P, V>;
}

}  // namespace

ConvOuterFunction conv_outer(int k, int vectors) {
  if constexpr (max_vectors >= 4) {
    if (vectors == 4) return pick<4>(k);
  }
  return vectors == 2 ? pick<2>(k) : pick<1>(k);
}

void add_pixels(const float* dy, int64_t pixels, int64_t pitch, float* sum) {
  Vec a = {}, b = {}, c = {}, d = {};
  int64_t p = 0;
  for (; p + 4 <= pixels; p += 4, dy += 4 * pitch) {
    a += load(dy);
    b += load(dy + pitch);
    c += load(dy + 2 * pitch);
    d += load(dy + 3 * pitch);
  }
  for (; p < pixels; ++p, dy += pitch) a += load(dy);
  store(sum, load(sum) + ((a + b) + (c + d)));
}

}  // namespace tern::simd::TERN_ISA
