// Float32 convolution on raw pointers for one CPU thread at a time: the work inside kernels/conv.cpp.
//
// Activations are dense NHWC: x [N][H][W][IC], y [N][OH][OW][OC], where of a convolution in groups these are
// one group's channels among the others'. Any kernel size, stride, padding and channel count is served,
// dilation where stride is 1. Nothing here allocates, starts threads or throws; sizes are trusted.
//
// Every operation is a number of independent items. The caller asks for the count, spreads the items over
// threads in any way and calls the function with ranges [begin, end); the result has the same bits for every
// split. Each thread passes scratch of its own, whose size (in floats) another function tells. Scratch,
// packed weights and partial sums must be aligned to 64 bytes and need no initial value. Their sizes and
// layouts belong to the table that made them: never mix two tables.
//
// Direct convolution is at home at 3x3, 5x5 and 7x7 with up to a few hundred channels. 1x1 convolutions work
// too, but are plain matrix products, which a tuned GEMM does with fewer copies.
#pragma once

#include <cstdint>

namespace tern::simd {

/// y[n, p, q, o] = bias[o] + sum over r, s, i of
///     x[n, p * stride_h - pad_h + r * dilation_h, q * stride_w - pad_w + s * dilation_w, i] * w[o, i, r, s],
/// with x = 0 outside.
struct ConvShape {
  int64_t n, h, w, ic;
  int64_t oh, ow, oc;  ///< as the caller derived them
  int64_t kh, kw;
  int64_t stride_h, stride_w;
  int64_t pad_h, pad_w;
  /// A 2x2 max pool with stride 2 follows the convolution (and the ReLU) inside the same call: every output
  /// and output gradient is then the pooled one, [N][OH / 2][OW / 2][OC] (an odd last row or column is
  /// dropped), and goes with `argmax`. The unpooled output never reaches memory.
  bool pool;  ///< without dilation and groups
  int64_t dilation_h = 1, dilation_w = 1;
  /// So many convolutions lie side by side: pixels of x are groups * IC apart, those of y groups * OC.
  /// Pointers lead to the channels of the one that is meant.
  int64_t groups = 1;
};

/// Distance in floats from one index to the next of a weight tensor: [OC][IC][KH][KW] and [OC][KH][KW][IC] in
/// memory both work.
struct WeightStrides {
  int64_t oc, ic, kh, kw;
};

/// y = conv(x, w) + bias, optionally through ReLU (NaN stays NaN) and the pool.
struct ConvForward {
  ConvShape shape;
  const float* x;
  const float* packed;  ///< from pack_forward
  const float* bias;    ///< [OC], or null
  bool relu;
  float* y;  ///< [N][OH][OW][OC], pooled with shape.pool; overwritten
  /// With shape.pool, shaped as y: which of 0..3 (row-major in the window) was the first maximum. A NaN
  /// counts as larger than all, and of several the last is named, as in PyTorch.
  uint8_t* argmax;
};

/// The gradient that arrives at a convolution's output.
struct ConvOutputGradient {
  const float* dy;        ///< [N][OH][OW][OC], pooled with shape.pool
  const float* y;         ///< the output of a fused ReLU (dy counts unless y <= 0), else null; shaped as dy
  const uint8_t* argmax;  ///< with shape.pool what forward wrote, else null
};

/// dx = gradient of the convolution's input.
struct ConvBackwardData {
  ConvShape shape;
  ConvOutputGradient gradient;
  const float* packed;  ///< from pack_backward_data
  const float*
      mask;   ///< null, or the convolution's input x, itself the output of a ReLU: dx = x <= 0 ? 0 : dx
  float* dx;  ///< [N][H][W][IC]; overwritten
};

/// dw and db = gradients of weight and bias, first as partial sums whose number depends on the shape alone.
struct ConvBackwardWeight {
  ConvShape shape;
  ConvOutputGradient gradient;
  const float* x;
  float* partials;  ///< backward_weight_partials floats; overwritten
};

/// One instruction set's functions. `..._items` is the number of items, `..._scratch` the floats of scratch
/// that a thread needs. With shape.pool the gradients skip products with zero gradients, so an infinity or
/// NaN in x or w that meets only those leaves no trace in dx and dw.
struct ConvKernels {
  /// The weight in the order that forward reads: pack_forward fills forward_packed floats.
  int64_t (*forward_packed)(const ConvShape&);
  int64_t (*pack_forward_items)(const ConvShape&);
  void (*pack_forward)(const ConvShape&, const float* w, const WeightStrides&, float* packed, int64_t begin,
                       int64_t end);

  int64_t (*forward_items)(const ConvShape&);
  int64_t (*forward_scratch)(const ConvShape&);
  void (*forward)(const ConvForward&, int64_t begin, int64_t end, float* scratch);

  /// The weight in the order that backward_data reads.
  int64_t (*backward_data_packed)(const ConvShape&);
  int64_t (*pack_backward_data_items)(const ConvShape&);
  void (*pack_backward_data)(const ConvShape&, const float* w, const WeightStrides&, float* packed,
                             int64_t begin, int64_t end);

  int64_t (*backward_data_items)(const ConvShape&);
  int64_t (*backward_data_scratch)(const ConvShape&);
  void (*backward_data)(const ConvBackwardData&, int64_t begin, int64_t end, float* scratch);

  int64_t (*backward_weight_partials)(const ConvShape&);
  int64_t (*backward_weight_items)(const ConvShape&);
  int64_t (*backward_weight_scratch)(const ConvShape&);
  void (*backward_weight)(const ConvBackwardWeight&, int64_t begin, int64_t end, float* scratch);

  /// After all items of backward_weight: adds the partial sums in fixed order and writes dw (through the
  /// strides of the weight or any others) and, unless null, db [OC]; both are overwritten.
  int64_t (*reduce_weight_items)(const ConvShape&);
  void (*reduce_weight)(const ConvShape&, const float* partials, float* dw, const WeightStrides&, float* db,
                        int64_t begin, int64_t end);
};

/// The kernels for this machine's instruction set, chosen once (see isa.h). Any thread. Throws Error for an
/// unusable TERN_ISA.
const ConvKernels& conv_kernels();

}  // namespace tern::simd
