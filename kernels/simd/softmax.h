// Softmax and its logarithm on raw pointers: the inner loops of kernels/softmax.cpp.
//
// T is float or double. Nothing here allocates, starts threads or throws.
#pragma once

#include <cstdint>

namespace tern::simd {

/// `size` elements that are normalised together, `count` times side by side: element i of line j is x[i *
/// stride + j], or x[j * size + i] where stride is 0 (lines one after the other). Results lie likewise.
struct SoftmaxLines {
  int64_t size, count, stride;
  bool logarithm;
};

template <class T>
struct SoftmaxLoops {
  void (*forward)(const SoftmaxLines&, const T* x, T* y);
  void (*backward)(const SoftmaxLines&, const T* dy, const T* y, T* dx);
  /// log(sum(exp(x))) of one line without stride.
  T (*log_sum_exp)(const T* x, int64_t size);
  /// y = exp(x - offset) scale.
  void (*scaled_exp)(const T* x, int64_t size, T offset, T scale, T* y);
};

struct SoftmaxKernels {
  SoftmaxLoops<float> float32;
  SoftmaxLoops<double> float64;
};

/// The kernels for this machine's instruction set (isa.h).
const SoftmaxKernels& softmax_kernels();

}  // namespace tern::simd
