#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/dropout.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/where.h>

namespace tern {
namespace {

RandomState reserve(Generator* generator, const Tensor& x, int64_t count) {
  return (generator ? *generator : default_generator(x.device())).reserve(count);
}

// x mask, and 0 where the mask is, whatever x.
Tensor masked(const Tensor& x, const Tensor& mask) {
  const Tensor zero = kernels::scalar_like(0, mask), dropped = kernels::compare(Equal{}, mask, zero);
  return kernels::to(kernels::where(dropped, zero, kernels::mul(x, mask)), x.dtype());
}

}  // namespace

// y = x m / (1 - p); dx = dy m / (1 - p), with the same mask m, made again from the same random numbers.
Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  const OperationScope scope("dropout");
  check(p >= 0 && p <= 1, "dropout: p must be from 0 to 1, got ", p);
  if (!training || p == 0) return x;
  const RandomState state = reserve(generator, x, x.numel());
  return record("dropout", kernels::dropout(x, p, state), {x},
                [p, state](const Tensor& dy) -> Gradients { return {kernels::dropout(dy, p, state)}; });
}

// The same with one number of the mask for each channel.
Tensor dropout2d(const Tensor& x, double p, bool training, Generator* generator) {
  const OperationScope scope("dropout2d");
  check(p >= 0 && p <= 1, "dropout2d: p must be from 0 to 1, got ", p);
  check(x.dim() == 3 || x.dim() == 4, "dropout2d: needs [N, C, H, W] or [N, C, L], got ", x.shape());
  check(is_floating_point(x.dtype()), "dropout2d: needs a floating-point tensor, got ", x.dtype());
  if (!training || p == 0) return x;
  Shape channels = Shape::filled(static_cast<int>(x.dim()), 1);
  channels[0] = x.size(0), channels[1] = x.size(1);
  const Tensor all = ones(channels, computing_dtype(x.dtype()), x.device());
  const Tensor mask = kernels::dropout(all, p, reserve(generator, x, all.numel()));
  return record("dropout2d", masked(x, mask), {x},
                [mask](const Tensor& dy) -> Gradients { return {masked(dy, mask)}; });
}

}  // namespace tern
