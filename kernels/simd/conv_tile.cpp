#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {
namespace {

template <int V>
[[gnu::noinline]] void store_part(const ConvTile& tile, const float* block, int64_t offset) {
  for (int64_t o = 0; o < tile.channels; ++o) {
    const bool keep = tile.mask == nullptr || !(tile.mask[offset + o] <= 0);
    tile.y[offset + o] = keep ? block[o] : 0.0f;
  }
}

template <int V>
[[gnu::always_inline]] inline void store_pixel(const ConvTile& tile, const Vec* acc, int64_t offset) {
  if (tile.channels == V * vec_floats) {
    TERN_UNROLL
    for (int v = 0; v < V; ++v) {
      const int64_t at = offset + v * vec_floats;
      store(tile.y + at, tile.mask ? select(load(tile.mask + at) <= 0, Vec{}, acc[v]) : acc[v]);
    }
  } else {
    float block[V * vec_floats];
    TERN_UNROLL
    for (int v = 0; v < V; ++v) store(block + v * vec_floats, acc[v]);
    store_part<V>(tile, block, offset);
  }
}

template <int P, int V>
void compute(const ConvTile& tile) {
  Vec acc[P][V];
  const float* x[P];
  TERN_UNROLL
  for (int p = 0; p < P; ++p) {
    x[p] = tile.x + tile.x_offset[p];
    TERN_UNROLL
    for (int v = 0; v < V; ++v) acc[p][v] = load(tile.bias + v * vec_floats);
  }
  const float* weight = tile.weight;
  const int64_t runs = tile.rows * tile.cols, next_row = tile.x_row - (tile.cols - 1) * tile.x_col;
  for (int64_t i = 0, col = 0; i < runs; ++i) {
    for (int64_t k = 0; k < tile.run; ++k) {
      Vec w[V];
      TERN_UNROLL
      for (int v = 0; v < V; ++v) w[v] = load(weight + v * vec_floats);
      weight += V * vec_floats;
      TERN_UNROLL
      for (int p = 0; p < P; ++p) {
        const Vec b = broadcast(x[p][k]);
        TERN_UNROLL
        for (int v = 0; v < V; ++v) acc[p][v] += b * w[v];
      }
    }
    const bool last = ++col == tile.cols;
    if (last) col = 0;
    const int64_t step = last ? next_row : tile.x_col;
    TERN_UNROLL
    for (int p = 0; p < P; ++p) x[p] += step;
  }
  TERN_UNROLL
  for (int p = 0; p < P; ++p) {
    if (tile.relu) {
      TERN_UNROLL
      for (int v = 0; v < V; ++v) acc[p][v] = relu(acc[p][v]);
    }
    store_pixel<V>(tile, acc[p], tile.y_offset[p]);
  }
}

template <int V, int P = 1>
ConvTileFunction pick(int pixels) {
  if constexpr (P < max_pixels(V)) {
    if (pixels > P) return pick<V, P + 1>(pixels);
  }
  return compute<P, V>;
}

}  // namespace

ConvTileFunction conv_tile(int pixels, int vectors) {
  if constexpr (max_vectors >= 4) {
    if (vectors == 4) return pick<4>(pixels);
  }
  return vectors == 2 ? pick<2>(pixels) : pick<1>(pixels);
}

}  // namespace tern::simd::TERN_ISA
