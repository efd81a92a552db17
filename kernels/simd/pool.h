// Pooling on raw pointers for one CPU thread at a time: float32 maxima for kernels/pool.cpp, averages for
// kernels/span_pool.cpp.
//
// Activations are dense NHWC: x [N][H][W][C], y [N][OH][OW][C]. For maxima padding counts as minus infinity;
// dilation is 1. Nothing here allocates, starts threads or throws; sizes are trusted. All functions work on
// ranges of independent items and give the same bits for every split.
#pragma once

#include <cstdint>

namespace tern::simd {

/// Every window must hold at least one element of x: pad <= kernel / 2, and windows start inside x or its
/// left padding.
struct PoolShape {
  int64_t n, h, w, c;
  int64_t oh, ow;
  int64_t kh, kw;
  int64_t stride_h, stride_w;
  int64_t pad_h, pad_w;
};

/// `Index` is uint8_t where the window has at most 256 elements, else int32_t. argmax is shaped as y and
/// names the first maximum by its place in the window, r * kw + s, padding included; a NaN counts as larger
/// than all, and of several the last is named, as in PyTorch.
template <class Index>
struct MaxPool {
  /// Items are rows of y: n * oh.
  void (*forward)(const PoolShape&, const float* x, float* y, Index* argmax, int64_t begin, int64_t end);
  /// Items are rows of dx: n * h. dx is overwritten; where windows overlap, gradients are added in row-major
  /// order.
  void (*backward)(const PoolShape&, const float* dy, const Index* argmax, float* dx, int64_t begin,
                   int64_t end);
};

/// The rows (or columns) [first, last) of an image that a window covers, and how many count in its average,
/// padding included. Both ends grow with the window's number.
struct PoolSpan {
  int64_t first, last, extent;
};

struct SpanPoolShape {
  int64_t n, h, w, c;
  int64_t oh, ow;
  const PoolSpan* rows;     ///< [oh]
  const PoolSpan* columns;  ///< [ow]
  int64_t divisor;          ///< what sums are divided by; 0: by the product of the extents
};

template <class S>
struct AveragePool {
  /// Items are rows of y: n * oh.
  void (*forward)(const SpanPoolShape&, const S* x, S* y, int64_t begin, int64_t end);
  /// Items are rows of dx: n * h. dx is overwritten; the windows over a place are added in row-major order.
  void (*backward)(const SpanPoolShape&, const S* dy, S* dx, int64_t begin, int64_t end);
};

struct PoolKernels {
  MaxPool<uint8_t> max_small;
  MaxPool<int32_t> max_large;
  AveragePool<float> average32;
  AveragePool<double> average64;
};

/// The kernels for this machine's instruction set, chosen once (see isa.h). Any thread. Throws Error for an
/// unusable TERN_ISA.
const PoolKernels& pool_kernels();

}  // namespace tern::simd
