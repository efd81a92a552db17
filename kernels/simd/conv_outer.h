// The inner kernel of the weight gradient: a sum of outer products over pixels.
#pragma once

#include <tern/kernels/simd/conv_tile.h>

namespace tern::simd::TERN_ISA {

/// dw[k][o] += sum over rows r and columns c of x[row_offset[r] + c * x_step + k_offset[k]] * dy[r][c][o],
/// for a few k and one block of o.
struct ConvOuter {
  const float* x;
  const int32_t* row_offset;
  const int32_t* k_offset;
  int64_t rows, cols, x_step;
  const float* dy;  // [rows][cols][block width]
  float* dw;        // [k][block width]
};

using ConvOuterFunction = void (*)(const ConvOuter&);

/// The kernel for 1 <= k <= max_pixels(vectors).
ConvOuterFunction conv_outer(int k, int vectors);

/// sum[o] += sum over p < pixels of dy[p][o], for one vector of o.
void add_pixels(const float* dy, int64_t pixels, int64_t pitch, float* sum);

}  // namespace tern::simd::TERN_ISA
