#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {

using namespace tern;

Input normal(const Shape& shape, DType dtype) {
  return {[=] { return randn(shape, dtype); }};
}

Input positive(const Shape& shape) {
  return {[=] { return rand(shape) + 0.5; }};
}

Input image(const Shape& shape) {
  return {[=] { return contiguous(randn(shape), MemoryFormat::channels_last); }};
}

Input target(const Shape& shape) {
  return {[=] { return rand(shape); }, false};
}

Input integers(int64_t below, const Shape& shape) {
  return {[=] { return randint(0, below, shape); }, false};
}

Input truth(bool value, const Shape& shape) {
  return {[=] { return full(shape, value, boolean); }, false};
}

Tensor random_like(const Tensor& y) {
  const Tensor result = empty_like(y);
  const NoGradGuard no_grad;
  return copy_(result, randn(y.shape(), y.dtype()));
}

}  // namespace benchmarks
