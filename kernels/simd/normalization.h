// Statistics and normalisation on raw pointers for one CPU thread at a time: the loops inside
// kernels/channel_passes.cpp and kernels/layer_norm.cpp.
//
// Moments are the mean and the sum of squared distances from it. They are formed in blocks that stay in the
// first-level cache, each as the corrected two-pass algorithm does (Chan, Golub, LeVeque: Algorithms for
// Computing the Sample Variance, 1983), and merged in double: memory is read once, and a large mean costs no
// digits. Sums are formed in S within blocks and in double across them.
//
// A statistic's mean is given as `pivot`, a value of S near it: whoever computes the factors corrects for the
// rest in double.
#pragma once

#include <cstdint>

namespace tern::simd {

/// `rows` rows of `columns` elements, `stride` elements apart.
struct NormTile {
  int64_t rows, columns, stride;
};

/// Each column has its own statistic: arrays have an element per column.
template <class S>
struct NormColumns {
  /// mean and m2 are overwritten. rows >= 1.
  void (*moments)(const NormTile&, const S* x, double* mean, double* m2);
  /// y = (x - pivot) scale + shift.
  void (*normalize)(const NormTile&, const S* x, const S* pivot, const S* scale, const S* shift, S* y);
  /// sum = the sum of dy, product = that of dy (x - pivot); overwritten.
  void (*sums)(const NormTile&, const S* dy, const S* x, const S* pivot, double* sum, double* product);
  /// dx = dy a + (x - pivot) b + c.
  void (*gradient)(const NormTile&, const S* dy, const S* x, const S* pivot, const S* a, const S* b,
                   const S* c, S* dx);
};

/// A row has one statistic. `weight` and `bias` have an element per element of the row, or are null.
template <class S>
struct NormRow {
  /// count >= 1.
  void (*moments)(const S* x, int64_t count, double* mean, double* m2);
  /// y = ((x - pivot) scale + shift) weight + bias.
  void (*normalize)(const S* x, int64_t count, S pivot, S scale, S shift, const S* weight, const S* bias,
                    S* y);
  /// The sums of dy weight and of dy weight (x - pivot).
  void (*sums)(const S* dy, const S* x, const S* weight, int64_t count, S pivot, double* sum,
               double* product);
  /// dx = dy weight a + (x - pivot) b + c.
  void (*gradient)(const S* dy, const S* x, const S* weight, int64_t count, S pivot, S a, S b, S c, S* dx);
  /// dweight += dy ((x - pivot) scale + shift) and dbias += dy, element by element.
  void (*parameters)(const S* dy, const S* x, int64_t count, S pivot, S scale, S shift, S* dweight, S* dbias);
};

/// One instruction set's functions.
struct NormKernels {
  NormColumns<float> columns32;
  NormColumns<double> columns64;
  NormRow<float> row32;
  NormRow<double> row64;
};

/// The kernels for this machine's instruction set, chosen once (isa.h). Any thread.
const NormKernels& norm_kernels();

}  // namespace tern::simd
