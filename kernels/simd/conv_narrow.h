// Float32 convolution in groups of 1, 2, 4 or 8 channels (1: depthwise) on raw pointers for one CPU thread at
// a time: the inner work of kernels/conv_narrow.cpp.
//
// A vector holds whole groups side by side, so that every lane works however narrow the groups are.
// Activations are dense NHWC with as many channels in x as in y; taps outside the image are left out. Nothing
// here allocates, starts threads or throws; sizes are trusted. All functions work on ranges of independent
// items and give the same bits for every split.
#pragma once

#include <cstdint>

namespace tern::simd {

struct NarrowConvShape {
  int64_t n, h, w, oh, ow;
  int64_t c;      ///< a multiple of `width`
  int64_t width;  ///< channels of a group: a power of two up to `widest`
  int64_t kh, kw;
  int64_t stride_h, stride_w;
  int64_t pad_h, pad_w;
  int64_t dilation_h, dilation_w;
};

/// One instruction set's functions. With i the number of a channel within its group:
struct NarrowConvKernels {
  int64_t widest;  ///< half a vector: groups as wide as a vector need no such kernels
  /// y[.., o] = bias[o] + the sum over taps and i of x[tap, group of o, i] * weight[tap][i][o]. Items are
  /// rows of y: n * oh. bias may be null; y is overwritten.
  void (*forward)(const NarrowConvShape&, const float* x, const float* weight, const float* bias, float* y,
                  int64_t begin, int64_t end);
  /// dx[.., c] = the sum over taps and i of dy[group of c, i] * weight[tap][i][c]. Items are rows of dx: n *
  /// h; dx is overwritten.
  void (*backward_data)(const NarrowConvShape&, const float* dy, const float* weight, float* dx,
                        int64_t begin, int64_t end);
  /// Adds to dweight[tap][i][o] the products dy[o] * x[tap, group of o, i] of rows [begin, end) of dy.
  void (*backward_weight)(const NarrowConvShape&, const float* dy, const float* x, float* dweight,
                          int64_t begin, int64_t end);
};

/// The functions for this machine's instruction set, chosen once (isa.h). Any thread. Throws Error for an
/// unusable TERN_ISA.
const NarrowConvKernels& narrow_conv_kernels();

}  // namespace tern::simd
