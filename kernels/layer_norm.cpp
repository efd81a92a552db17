#include <tern/kernels/layer_norm.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/normalization.h>

#include <algorithm>
#include <cmath>

namespace tern::kernels {
namespace {

constexpr int64_t block_elements = 32768;

// x as rows to be normalised. A block's rows are few enough to be summed in float32.
struct Rows {
  int64_t count, size;
  Rows(const Tensor& x, const Shape& normalized_shape) : count(1), size(normalized_shape.numel()) {
    for (int64_t d = 0; d < x.dim() - normalized_shape.dim(); ++d) count *= x.size(d);
    if (size == 0) count = 0;
  }
  int64_t block() const { return std::clamp<int64_t>(block_elements / std::max<int64_t>(size, 1), 4, 256); }
};

Tensor widened(const Tensor& x, DType dtype) { return x.defined() ? to(contiguous(x), dtype) : x; }

template <class S>
const simd::NormRow<S>& loops() {
  if constexpr (std::is_same_v<S, double>)
    return simd::norm_kernels().row64;
  else
    return simd::norm_kernels().row32;
}

template <class S>
const S* pointer(const Tensor& x) {
  return x.defined() ? x.data<S>() : nullptr;
}

void check_rows(const char* operation, const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                const Tensor& bias) {
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  const int64_t lead = x.dim() - normalized_shape.dim();
  check(normalized_shape.dim() >= 1 && lead >= 0 &&
            std::equal(normalized_shape.begin(), normalized_shape.end(), x.shape().begin() + lead),
        operation, ": the last dimensions of the input must be ", normalized_shape, ", got input ",
        x.shape());
  check_device_kernels(x.device(), operation);
  check_norm_parameter(operation, "weight", weight, normalized_shape, x);
  check_norm_parameter(operation, "bias", bias, normalized_shape, x);
}

// The moments of one row: about its mean, or about zero for RMS norm.
template <class S>
void find_moments(const S* x, int64_t size, bool about_mean, double& mean, double& m2) {
  double sum;
  if (about_mean)
    loops<S>().moments(x, size, &mean, &m2);
  else
    mean = 0, loops<S>().sums(x, x, nullptr, size, S(0), &sum, &m2);
}

LayerNorm normalize(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                    double eps, bool about_mean) {
  const DType dtype = computing_dtype(x.dtype());
  const Rows rows(x, normalized_shape);
  const Tensor input = widened(x, dtype), w = widened(weight, dtype), b = widened(bias, dtype);
  const Tensor y = empty(x.shape(), dtype, x.device());
  const Tensor rstd = empty({rows.count}, float64, x.device());
  LayerNorm result{Tensor(), about_mean ? empty_like(rstd) : Tensor(), rstd};
  dispatch_computing(dtype, [&]<class S>() {
    const S *from = input.data<S>(), *factor = pointer<S>(w), *term = pointer<S>(b);
    S* out = y.data<S>();
    double *means = about_mean ? result.mean.data<double>() : nullptr, *rstds = result.rstd.data<double>();
    parallel_for(rows.count, rows.block(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        double mean, m2;
        find_moments(from + row * rows.size, rows.size, about_mean, mean, m2);
        const double rstd = 1 / std::sqrt(m2 / static_cast<double>(rows.size) + eps);
        const S pivot = static_cast<S>(mean);
        loops<S>().normalize(from + row * rows.size, rows.size, pivot, static_cast<S>(rstd),
                             static_cast<S>((static_cast<double>(pivot) - mean) * rstd), factor, term,
                             out + row * rows.size);
        if (means) means[row] = mean;
        rstds[row] = rstd;
      }
    });
  });
  result.y = to(y, x.dtype());
  return result;
}

// What backward reads and writes, for one dtype.
template <class S>
struct Backward {
  Rows rows;
  const S *dy, *x, *weight;
  const double *mean, *rstd;
  S *dx, *dweights, *dbiases;  // or null; of parameters one row a block

  // With g = dy weight: dx = rstd (g - mean(g) - (x - mean) rstd^2 mean(g (x - mean))), where RMS norm has
  // mean = 0 and does not take mean(g) off.
  void input(int64_t row) const {
    const int64_t at = row * rows.size;
    const double center = mean ? mean[row] : 0, r = rstd[row], share = 1 / static_cast<double>(rows.size);
    const S pivot = static_cast<S>(center);
    const double rest = static_cast<double>(pivot) - center;
    double sum, product;
    loops<S>().sums(dy + at, x + at, weight, rows.size, pivot, &sum, &product);
    const double b = -r * r * r * (product + rest * sum) * share;
    const double c = (mean ? -r * sum * share : 0) + rest * b;
    loops<S>().gradient(dy + at, x + at, weight, rows.size, pivot, static_cast<S>(r), static_cast<S>(b),
                        static_cast<S>(c), dx + at);
  }
  void parameters(int64_t row, int64_t block) const {
    const int64_t at = row * rows.size, to = block * rows.size;
    const double center = mean ? mean[row] : 0, r = rstd[row];
    const S pivot = static_cast<S>(center);
    loops<S>().parameters(dy + at, x + at, rows.size, pivot, static_cast<S>(r),
                          static_cast<S>((static_cast<double>(pivot) - center) * r),
                          dweights ? dweights + to : nullptr, dbiases ? dbiases + to : nullptr);
  }
};

template <class S>
void run(const Backward<S>& task) {
  const Rows& rows = task.rows;
  parallel_for(rows.count, rows.block(), [&](int64_t begin, int64_t end) {
    const int64_t block = begin / rows.block();
    for (S* sums : {task.dweights, task.dbiases}) {
      if (sums) std::fill(sums + block * rows.size, sums + (block + 1) * rows.size, S(0));
    }
    for (int64_t row = begin; row < end; ++row) {
      if (task.dx) task.input(row);
      if (task.dweights || task.dbiases) task.parameters(row, block);
    }
  });
}

// The sum over the blocks, in order.
Tensor added(const Tensor& partials, const Shape& shape, DType dtype) {
  const Tensor total = empty(shape, float64, partials.device());
  double* to = total.data<double>();
  const int64_t blocks = partials.size(0), size = partials.size(1);
  dispatch_computing(partials.dtype(), [&]<class S>() {
    const S* from = partials.data<S>();
    parallel_for(size, 4096, [&](int64_t begin, int64_t end) {
      std::fill(to + begin, to + end, 0.0);
      for (int64_t block = 0; block < blocks; ++block) {
        for (int64_t i = begin; i < end; ++i) to[i] += static_cast<double>(from[block * size + i]);
      }
    });
  });
  return kernels::to(total, dtype);
}

}  // namespace

LayerNorm layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                     double eps) {
  check_rows("layer_norm", x, normalized_shape, weight, bias);
  return normalize(x, normalized_shape, weight, bias, eps, true);
}

LayerNorm rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, double eps) {
  check_rows("rms_norm", x, normalized_shape, weight, Tensor());
  return normalize(x, normalized_shape, weight, Tensor(), eps, false);
}

NormGradients layer_norm_backward(const Tensor& dy, const Tensor& x, const Shape& normalized_shape,
                                  const LayerNorm& forward, const Tensor& weight, DType bias_dtype,
                                  NormWants wants) {
  const DType dtype = computing_dtype(x.dtype());
  const Rows rows(x, normalized_shape);
  const Tensor input = widened(x, dtype), upstream = widened(dy, dtype), w = widened(weight, dtype);
  const Tensor dx = wants.x ? empty(x.shape(), dtype, x.device()) : Tensor();
  const Shape partial{(rows.count + rows.block() - 1) / rows.block(), rows.size};
  const Tensor dweights = wants.weight ? empty(partial, dtype, x.device()) : Tensor();
  const Tensor dbiases = wants.bias ? empty(partial, dtype, x.device()) : Tensor();
  dispatch_computing(dtype, [&]<class S>() {
    const auto target = [](const Tensor& t) { return t.defined() ? t.data<S>() : nullptr; };
    run(Backward<S>{rows, upstream.data<S>(), input.data<S>(), pointer<S>(w), pointer<double>(forward.mean),
                    forward.rstd.data<double>(), target(dx), target(dweights), target(dbiases)});
  });
  NormGradients result;
  if (wants.x) result.dx = to(dx, x.dtype());
  if (wants.weight) result.dweight = added(dweights, normalized_shape, weight.dtype());
  if (wants.bias) result.dbias = added(dbiases, normalized_shape, bias_dtype);
  return result;
}

}  // namespace tern::kernels
