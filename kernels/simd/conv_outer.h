// The inner kernel of the weight gradient: a sum of outer products over pixels.
#pragma once

#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

/// dw[k][o] += sum over p < pixels of x[pixel_offset[p] + k_offset[k]] * dy[p][o], for a few k and one block
/// of o.
struct ConvOuter {
  const float* x;
  const int32_t* pixel_offset;
  const int32_t* k_offset;
  int64_t pixels;
  const float* dy;  // [pixels][block width]
  float* dw;        // [k][block width]
};

using ConvOuterFunction = void (*)(const ConvOuter&);

/// The kernel for 1 <= k <= max_pixels(vectors).
ConvOuterFunction conv_outer(int k, int vectors);

/// sum[o] += sum over p < pixels of dy[p][o], for one vector of o.
void add_pixels(const float* dy, int64_t pixels, int64_t pitch, float* sum);

}  // namespace tern::simd::TERN_ISA
