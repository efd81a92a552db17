// Images in another size, on raw pointers for one CPU thread at a time: the work inside kernels/resize.cpp.
//
// Images are dense NHWC. Every pixel of the result is a weighted sum of pixels of the source, where the
// weights are a row's times a column's: the same for interpolation and, with the tables turned round, for its
// gradient. Nothing here allocates, starts threads or throws.
#pragma once

#include <cstdint>

namespace tern::simd {

struct ResizeTap {
  int64_t at;  ///< the row or column of the source
  double weight;
};

/// Row (column) i of the result takes taps begin[i], …, begin[i + 1] - 1.
struct ResizeTable {
  const int64_t* begin;
  const ResizeTap* taps;
};

struct ResizeTask {
  int64_t from_h, from_w, to_h, to_w, channels;
  ResizeTable rows, columns;
};

/// Items are rows of the result: n * to_h. Taps are added in order, a pixel without any is 0.
struct ResizeKernels {
  void (*for_float)(const ResizeTask&, const float* from, float* to, int64_t begin, int64_t end);
  void (*for_double)(const ResizeTask&, const double* from, double* to, int64_t begin, int64_t end);
};

/// The kernels for this machine's instruction set, chosen once (see isa.h).
const ResizeKernels& resize_kernels();

}  // namespace tern::simd
