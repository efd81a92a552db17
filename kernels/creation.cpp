#include <tern/kernels/creation.h>

#include <tern/kernels/fill.h>

namespace tern {
namespace {

Generator& chosen(Generator* generator, Device device) {
  return generator ? *generator : default_generator(device);
}

Tensor filled(Tensor x, Scalar value) {
  kernels::fill(x, value);
  return x;
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor full(const Shape& shape, Scalar value, DType dtype, Device device) {
  value.check_fits(dtype, "full");
  return filled(empty(shape, dtype, device), value);
}
Tensor zeros_like(const Tensor& x) { return filled(empty_like(x), 0); }
Tensor ones_like(const Tensor& x) { return filled(empty_like(x), 1); }
Tensor full_like(const Tensor& x, Scalar value) {
  value.check_fits(x.dtype(), "full_like");
  return filled(empty_like(x), value);
}
Tensor eye(int64_t rows, std::optional<int64_t> columns, DType dtype, Device device) {
  return kernels::eye(rows, columns.value_or(rows), dtype, device);
}

Tensor arange(Scalar end) { return arange(0, end); }
Tensor arange(Scalar start, Scalar end, Scalar step) {
  const bool floating = start.is_floating_point() || end.is_floating_point() || step.is_floating_point();
  return kernels::arange(start, end, step, floating ? float32 : int64);
}

Tensor tensor(Scalar value) {
  return filled(empty({}, value.is_floating_point() ? float32 : value.is_boolean() ? boolean : int64), value);
}

Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> release, Device device) {
  const auto bytes = static_cast<size_t>(shape.numel()) * size_of(dtype);
  return Tensor(make_ref<Storage>(data, bytes, device, std::move(release)), Layout(shape), dtype);
}

Tensor rand(const Shape& shape, DType dtype, Device device, Generator* generator) {
  Tensor x = empty(shape, dtype, device);
  kernels::uniform(x, 0, 1, chosen(generator, device));
  return x;
}

Tensor randn(const Shape& shape, DType dtype, Device device, Generator* generator) {
  Tensor x = empty(shape, dtype, device);
  kernels::normal(x, 0, 1, chosen(generator, device));
  return x;
}

Tensor randint(int64_t low, int64_t high, const Shape& shape, DType dtype, Device device,
               Generator* generator) {
  Tensor x = empty(shape, dtype, device);
  kernels::randint(x, low, high, chosen(generator, device));
  return x;
}

Tensor randperm(int64_t n, Device device, Generator* generator) {
  return kernels::randperm(n, chosen(generator, device), device);
}

}  // namespace tern
