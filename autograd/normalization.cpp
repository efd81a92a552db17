#include <tern/autograd/checkpoint.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/group_norm.h>
#include <tern/kernels/layer_norm.h>

#include <limits>

namespace tern {
namespace {

DType dtype_or(const Tensor& x, DType otherwise) { return x.defined() ? x.dtype() : otherwise; }

kernels::NormWants norm_wants(Wants wants) { return {wants[0], wants[1], wants[2]}; }

Gradients listed(const kernels::NormGradients& gradients) {
  return {gradients.dx, gradients.dweight, gradients.dbias};
}

void check_running(const Tensor& x, const Tensor& running, const char* which) {
  check(running.shape() == Shape{x.size(1)} && is_floating_point(running.dtype()) &&
            running.device() == x.device(),
        "batch_norm: ", which, " must be [", x.size(1), "], floating-point, on ", x.device(), ", got ",
        running.shape(), " of ", running.dtype(), " on ", running.device());
}

// Layer norm and RMS norm alike.
Tensor record_rows(const char* operation, const kernels::LayerNorm& forward, const Tensor& x,
                   const Tensor& weight, const Tensor& bias, const Shape& shape) {
  return record(operation, forward.y, {x, weight, bias},
                [x = SavedTensor(x), weight = SavedTensor(weight), mean = forward.mean, rstd = forward.rstd,
                 shape, bias_dtype = dtype_or(bias, x.dtype())](const Tensor& dy, Wants wants) -> Gradients {
                  return listed(kernels::layer_norm_backward(dy, x.get(), shape, {Tensor(), mean, rstd},
                                                             weight.get(), bias_dtype, norm_wants(wants)));
                });
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, const BatchNormOptions& options) {
  const OperationScope scope("batch_norm");
  kernels::check_batch_norm(x, weight, bias);
  check(running_mean.defined() == running_var.defined(),
        "batch_norm: needs both running_mean and running_var, or neither");
  check(options.training || running_mean.defined(), "batch_norm: evaluation needs running statistics");
  if (running_mean.defined()) {
    check_running(x, running_mean, "running_mean");
    check_running(x, running_var, "running_var");
    for (const Tensor& running : {running_mean, running_var}) {
      if (options.training) kernels::check_no_overlap(running, "batch_norm");
    }
  }
  Tensor mean, rstd;
  double count = 0;
  if (options.training) {
    const kernels::BatchMoments moments = kernels::batch_moments(x, options.peers.get());
    // A checkpoint's second run sees the batch that the first has counted already.
    if (running_mean.defined() && !is_recomputing())
      kernels::update_running(running_mean, running_var, moments, options.momentum);
    mean = moments.mean, rstd = kernels::inverse_deviation(moments.var, options.eps), count = moments.count;
  } else {
    mean = kernels::clone(kernels::wide_parameter(running_mean, 0, 0, x.device()));
    rstd = kernels::inverse_deviation(running_var, options.eps);
  }
  return record("batch_norm", kernels::batch_normalize(x, mean, rstd, weight, bias), {x, weight, bias},
                [x = SavedTensor(x), weight = SavedTensor(weight), mean, rstd, count,
                 bias_dtype = dtype_or(bias, x.dtype()),
                 peers = options.peers](const Tensor& dy, Wants wants) -> Gradients {
                  return listed(kernels::batch_norm_backward(dy, x.get(), mean, rstd, count, weight.get(),
                                                             bias_dtype, norm_wants(wants), peers.get()));
                });
}

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const OperationScope scope("layer_norm");
  const kernels::LayerNorm forward = kernels::layer_norm(x, normalized_shape, weight, bias, eps);
  return record_rows("layer_norm", forward, x, weight, bias, normalized_shape);
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const OperationScope scope("rms_norm");
  const double smallest = x.dtype() == float64 ? std::numeric_limits<double>::epsilon()
                                               : static_cast<double>(std::numeric_limits<float>::epsilon());
  const kernels::LayerNorm forward = kernels::rms_norm(x, normalized_shape, weight, eps.value_or(smallest));
  return record_rows("rms_norm", forward, x, weight, Tensor(), normalized_shape);
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  const OperationScope scope("group_norm");
  const kernels::GroupNorm forward = kernels::group_norm(x, num_groups, weight, bias, eps);
  return record(
      "group_norm", forward.y, {x, weight, bias},
      [x = SavedTensor(x), weight = SavedTensor(weight), mean = forward.mean, rstd = forward.rstd, num_groups,
       bias_dtype = dtype_or(bias, x.dtype())](const Tensor& dy, Wants wants) -> Gradients {
        return listed(kernels::group_norm_backward(dy, x.get(), num_groups, {Tensor(), mean, rstd},
                                                   weight.get(), bias_dtype, norm_wants(wants)));
      });
}

}  // namespace tern
