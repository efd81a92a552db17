#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/simd/pointwise.h>

namespace tern::kernels {
namespace {

const char* at(const void* data, int64_t element, size_t size) {
  return static_cast<const char*>(data) + element * static_cast<int64_t>(size);
}

char* at(void* data, int64_t element, size_t size) {
  return static_cast<char*>(data) + element * static_cast<int64_t>(size);
}

template <class Math>
constexpr bool takes_integers = TakesIntegers<Math>;
template <class Variant>
bool integers_allowed(const Variant& math) {
  return std::visit([]<class Math>(const Math&) { return takes_integers<Math>; }, math);
}

template <class Variant>
const char* name_of(const Variant& math) {
  return std::visit([](const auto& function) { return function.name; }, math);
}

void check_cpu(const char* operation, const Tensor& x) {
  check(x.device().is_cpu(), operation, ": no kernel for ", x.device());
}

// A tensor whose elements can be walked as one run in the order of `like`'s strides.
Tensor dense(const Tensor& x) { return x.layout().is_dense() ? x : contiguous(x); }

int kind(DType dtype) { return is_floating_point(dtype) ? 2 : dtype == boolean ? 0 : 1; }

// Who decides the dtype where tensors meet: one with dimensions, then one without, then a number.
int rank(const Tensor& x) { return x.impl()->is_number ? 0 : x.dim() == 0 ? 1 : 2; }

// An operand of an operation in `dtype`. A single value keeps what a half type would round away.
Tensor converted(const Tensor& x, DType dtype) {
  return to(x, x.dim() == 0 ? computing_dtype(dtype) : dtype);
}

// Whether x is an integer number that `dtype`, an integer type, can't hold.
bool exceeds(const Tensor& x, DType dtype) {
  if (!x.impl()->is_number || x.dtype() != int64 || kind(dtype) != 1) return false;
  return to(to(x, dtype), int64).item<int64_t>() != x.item<int64_t>();
}

template <class RowFunction, class Math>
void run_binary(RowFunction function, const Math& math, DType dtype, const Tensor& a, const Tensor& b,
                const Tensor& y) {
  const size_t a_size = size_of(a.dtype()), b_size = size_of(b.dtype()), y_size = size_of(y.dtype());
  const bool a_wide = a.dtype() != dtype, b_wide = b.dtype() != dtype;
  const void* a_data = a.data();
  const void* b_data = b.data();
  void* y_data = y.data();
  const IteratePlan plan = make_plan(y.shape(), {&y.layout(), &a.layout(), &b.layout()});
  for_each_row(plan, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    function(math, dtype,
             {at(a_data, offsets[1], a_size), at(b_data, offsets[2], b_size), at(y_data, offsets[0], y_size),
              count, strides[1], strides[2], strides[0], a_wide, b_wide});
  });
}

void check_devices(const char* operation, const Tensor& a, const Tensor& b) {
  check(a.device() == b.device(), operation, ": operands are on ", a.device(), " and ", b.device());
  check_cpu(operation, a);
}

}  // namespace

bool keeps_output(const UnaryMath& math) {
  return std::visit([]<class Math>(const Math&) { return GradientFromOutput<Math>; }, math);
}

const char* name(const UnaryMath& math) { return name_of(math); }

Tensor unary(const UnaryMath& math, const Tensor& x) {
  check(is_floating_point(x.dtype()) || (integers_allowed(math) && x.dtype() != boolean), name(math),
        ": dtype ", x.dtype(), " is not served");
  check_cpu(name(math), x);
  const Tensor source = dense(x);
  Tensor y = empty_like(source);
  const size_t size = size_of(x.dtype());
  parallel_for(y.numel(), iterate_block, [&](int64_t begin, int64_t end) {
    simd::pointwise_kernels().unary(math, x.dtype(), at(source.data(), begin, size),
                                    at(y.data(), begin, size), end - begin);
  });
  return y;
}

Tensor unary_backward(const UnaryMath& math, const Tensor& saved, const Tensor& dy) {
  const Tensor kept = dense(saved);
  Tensor upstream = dy;
  if (upstream.strides() != kept.strides()) {
    upstream = empty_like(kept, dy.dtype());
    copy(dy, upstream);
  }
  Tensor dx = empty_like(kept);
  const size_t size = size_of(dx.dtype());
  parallel_for(dx.numel(), iterate_block, [&](int64_t begin, int64_t end) {
    simd::pointwise_kernels().unary_backward(math, dx.dtype(), at(kept.data(), begin, size),
                                             at(upstream.data(), begin, size), at(dx.data(), begin, size),
                                             end - begin);
  });
  return dx;
}

Strides result_strides(const Shape& shape, std::initializer_list<const Tensor*> operands) {
  for (const Tensor* operand : operands) {
    if (operand->shape() == shape && operand->layout().is_dense()) return operand->layout().strides_like();
  }
  return dense_strides(shape);
}

DType result_type(const Tensor& a, const Tensor& b) {
  const int a_rank = rank(a), b_rank = rank(b);
  if (a_rank == b_rank) return promote(a.dtype(), b.dtype());
  const Tensor& full = a_rank < b_rank ? b : a;
  const Tensor& single = a_rank < b_rank ? a : b;
  return kind(single.dtype()) > kind(full.dtype()) ? promote(single.dtype(), full.dtype()) : full.dtype();
}

namespace {

DType computed_type(const BinaryMath& math, const Tensor& a, const Tensor& b) {
  const DType dtype = result_type(a, b);
  return integers_allowed(math) || is_floating_point(dtype) ? dtype : float32;
}

}  // namespace

Tensor scalar_like(Scalar scalar, const Tensor& x) {
  const DType own = scalar.is_floating_point() ? float32 : scalar.is_boolean() ? boolean : int64;
  const DType wide = computing_dtype(x.dtype());
  Tensor value = empty({}, kind(own) < kind(wide) || wide == float64 ? wide : own, x.device());
  fill(value, scalar);
  value.impl()->is_number = true;
  return value;
}

Tensor binary(const BinaryMath& math, const Tensor& a, const Tensor& b) {
  check_devices(name_of(math), a, b);
  const DType dtype = computed_type(math, a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), name_of(math));
  Tensor y = empty_strided(shape, result_strides(shape, {&a, &b}), dtype, a.device());
  run_binary(simd::pointwise_kernels().binary, math, dtype, converted(a, dtype), converted(b, dtype), y);
  return y;
}

void binary_(const BinaryMath& math, const Tensor& a, const Tensor& b) {
  check_devices(name_of(math), a, b);
  check_no_overlap(a, name_of(math));
  const DType dtype = computed_type(math, a, b);
  check(kind(dtype) <= kind(a.dtype()), name_of(math), ": a result of dtype ", dtype,
        " does not fit a tensor of ", a.dtype(), " in place");
  check(broadcast_shapes(a.shape(), b.shape(), name_of(math)) == a.shape(), name_of(math), ": shape ",
        b.shape(), " does not broadcast to ", a.shape(), ", the tensor that is changed in place");
  const Tensor operand = converted(is_read_after_written(b, a) ? clone(b) : b, a.dtype());
  run_binary(simd::pointwise_kernels().binary, math, a.dtype(), a, operand, a);
  a.bump_version();
}

Tensor compare(const Comparison& math, const Tensor& a, const Tensor& b) {
  check_devices(name_of(math), a, b);
  DType dtype = result_type(a, b);
  if (exceeds(a, dtype) || exceeds(b, dtype)) dtype = int64;
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), name_of(math));
  Tensor y = empty_strided(shape, result_strides(shape, {&a, &b}), boolean, a.device());
  run_binary(simd::pointwise_kernels().compare, math, dtype, to(a, dtype), to(b, dtype), y);
  return y;
}

}  // namespace tern::kernels
