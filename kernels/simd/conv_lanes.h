// Vectors of channels in narrow groups.
#pragma once

#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

/// In every group of G lanes, lane i of that group.
template <int G, int i>
[[gnu::always_inline]] inline Vec spread(Vec v) {
  if constexpr (G == 1) return v;
#define TERN_LANE(n) ((n) / G * G + i)
#if TERN_VEC_FLOATS == 16
  return __builtin_shufflevector(v, v, TERN_LANE(0), TERN_LANE(1), TERN_LANE(2), TERN_LANE(3), TERN_LANE(4),
                                 TERN_LANE(5), TERN_LANE(6), TERN_LANE(7), TERN_LANE(8), TERN_LANE(9),
                                 TERN_LANE(10), TERN_LANE(11), TERN_LANE(12), TERN_LANE(13), TERN_LANE(14),
                                 TERN_LANE(15));
#elif TERN_VEC_FLOATS == 8
  return __builtin_shufflevector(v, v, TERN_LANE(0), TERN_LANE(1), TERN_LANE(2), TERN_LANE(3), TERN_LANE(4),
                                 TERN_LANE(5), TERN_LANE(6), TERN_LANE(7));
#else
  return __builtin_shufflevector(v, v, TERN_LANE(0), TERN_LANE(1), TERN_LANE(2), TERN_LANE(3));
#endif
#undef TERN_LANE
}

/// Calls body.operator()<i>() for i < G.
template <int G, int i = 0, class Body>
[[gnu::always_inline]] inline void for_each_lane(const Body& body) {
  body.template operator()<i>();
  if constexpr (i + 1 < G) for_each_lane<G, i + 1>(body);
}

/// Reads and writes all lanes, or of fewer than a vector's channels the first `lanes`.
template <bool whole>
[[gnu::always_inline]] inline Vec load_lanes(const float* p, int64_t lanes) {
  if constexpr (whole) return load(p);
  float values[vec_floats] = {};
  for (int64_t i = 0; i < lanes; ++i) values[i] = p[i];
  return load(values);
}

template <bool whole>
[[gnu::always_inline]] inline void store_lanes(float* p, Vec v, int64_t lanes) {
  if constexpr (whole) return store(p, v);
  for (int64_t i = 0; i < lanes; ++i) p[i] = v[i];
}

/// Some of an image's channels: from a multiple of a vector to another one or to the last.
struct Channels {
  int64_t all, begin, end;
};

/// Calls body(first channel, channels of it that no earlier call covered: the last ones) so that whole
/// vectors cover the channels; of fewer than a vector, body(0, all).
template <class Body>
[[gnu::always_inline]] inline void for_each_vector(const Channels& channels, const Body& body) {
  int64_t c = channels.begin;
  for (; c + vec_floats <= channels.end; c += vec_floats) body(c, int64_t{vec_floats});
  if (c < channels.end) body(channels.all < vec_floats ? 0 : channels.all - vec_floats, channels.end - c);
}

/// Calls body(channels) for blocks of so many that `pixels` of them, of 4 bytes, take half the first-level
/// cache.
template <class Body>
void for_each_block(int64_t all, int64_t pixels, const Body& body) {
  constexpr int64_t floats = 6 * 1024, fewest = 32;
  const int64_t fitting = floats / pixels / vec_floats * vec_floats;
  const int64_t size = fitting < fewest ? fewest : fitting;
  for (int64_t c = 0; c < all; c += size) body(Channels{all, c, c + size < all ? c + size : all});
}

}  // namespace tern::simd::TERN_ISA
