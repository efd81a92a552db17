// Losses of an input and a target, element by element: one pass over memory, whatever the reduction.
//
// Input and target have one shape and lie in any strides. The input is floating-point; the target, a weight
// and positive weights may have any dtype. float32 and half types compute in float32, float64 in float64;
// sums are formed in double, in a fixed order for any number of threads.
#pragma once

#include <tern/core/tensor.h>
#include <tern/kernels/loss_math.h>
#include <tern/kernels/simd/loss.h>

namespace tern::kernels {

using simd::LossPart;

struct LossOperands {
  Tensor x, target;
  Tensor weight;      ///< multiplies each loss; broadcasts to x's shape; may be undefined
  Tensor pos_weight;  ///< multiplies the part of positive targets; likewise
};

/// Throws Error naming `operation` unless x is floating-point, the target has its shape, weights broadcast to
/// it, and all are on one device that there are kernels for.
void check_loss_operands(const char* operation, const LossOperands& operands);

/// scale times a part of the loss per element (times its weight): x's shape, order and dtype.
Tensor losses(const LossMath& math, LossPart part, const LossOperands& operands, double scale = 1);

/// The sum of all losses.
double loss_sum(const LossMath& math, const LossOperands& operands);

}  // namespace tern::kernels
