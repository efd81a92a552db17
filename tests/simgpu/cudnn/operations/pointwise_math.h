// The formulas of pointwise operations, in double.

#pragma once

#include <cudnn.h>

namespace simdnn {

struct PointwiseNumbers {
  double lower_clip, upper_clip, lower_slope, elu_alpha, softplus_beta, swish_beta;
};

/// How many of x, b and t a mode reads; 0 for a mode that isn't known. A backward mode reads dy as its b.
int pointwise_inputs(cudnnPointwiseMode_t mode);
bool is_backward(cudnnPointwiseMode_t mode);

double pointwise_value(cudnnPointwiseMode_t mode, const PointwiseNumbers& numbers, double x, double b,
                       double t);

}  // namespace simdnn
