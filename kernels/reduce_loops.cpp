#include <tern/kernels/reduce_loops.h>

#include <tern/kernels/scalar_math.h>

#include <algorithm>
#include <limits>

namespace tern::kernels {
namespace {

template <ReduceOp op, class A>
void step(A& a, A x) {
  if constexpr (op == ReduceOp::sum || op == ReduceOp::sum_of_squares) a = math::sum(a, x);
  if constexpr (op == ReduceOp::prod) a = math::product(a, x);
  if constexpr (op == ReduceOp::max) a = x > a || x != x ? x : a;
  if constexpr (op == ReduceOp::min) a = x < a || x != x ? x : a;
  if constexpr (op == ReduceOp::any) a |= x;
  if constexpr (op == ReduceOp::all) a &= x;
}

// An element as what is accumulated.
template <ReduceOp op, class T>
auto read(T value) {
  if constexpr (!std::is_arithmetic_v<T>)
    return read<op>(static_cast<float>(value));
  else if constexpr (op == ReduceOp::any || op == ReduceOp::all)
    return static_cast<int64_t>(value != 0);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<int64_t>(value);
}

double& field(Accumulator& a, double) { return a.floating; }
int64_t& field(Accumulator& a, int64_t) { return a.integer; }

// An integer as wide as T that is 0 where the element is.
template <class T>
auto truth(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<uint16_t>(value.bits & 0x7fff);
  else if constexpr (std::is_same_v<T, float>)
    return static_cast<uint32_t>(value != 0);
  else if constexpr (std::is_same_v<T, double>)
    return static_cast<uint64_t>(value != 0);
  else if constexpr (std::is_same_v<T, bool>)
    return static_cast<uint8_t>(value);
  else
    return value;
}

// Whether any element is not zero, or whether any is. Whole blocks vectorise, and the first that has one is
// the last.
template <class T>
bool has(bool not_zero, const T* x, int64_t count) {
  constexpr int64_t block = 2048;
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t end = std::min(begin + block, count);
    decltype(truth(T{})) found = 0;
    if (not_zero)
      for (int64_t i = begin; i < end; ++i) found |= truth(x[i]);
    else
      for (int64_t i = begin; i < end; ++i) found |= truth(x[i]) == 0;
    if (found) return true;
  }
  return false;
}

template <ReduceOp op, class T>
void row(const void* x, int64_t stride, int64_t count, Accumulator* accumulator) {
  const T* from = static_cast<const T*>(x);
  if constexpr (op == ReduceOp::any || op == ReduceOp::all) {
    constexpr bool any = op == ReduceOp::any;
    if (stride == 1) {
      if (has(any, from, count)) accumulator->integer = any;
      return;
    }
  }
  auto value = field(*accumulator, read<op>(T{}));
  for (int64_t i = 0; i < count; ++i) step<op>(value, read<op>(from[i * stride]));
  field(*accumulator, value) = value;
}

template <ReduceOp op, class T>
void columns(const void* x, int64_t row_stride, int64_t rows, int64_t columns, Accumulator* accumulators) {
  const T* from = static_cast<const T*>(x);
  for (int64_t r = 0; r < rows; ++r, from += row_stride) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto value = read<op>(from[j]);
      step<op>(field(accumulators[j], value), value);
    }
  }
}

template <ReduceOp op>
ReduceLoops plain_loops(DType dtype) {
  return dispatch(dtype, [&]<class T>() -> ReduceLoops {
    constexpr bool vectorised = op != ReduceOp::any && op != ReduceOp::all;
    if constexpr (vectorised && (!std::is_arithmetic_v<T> || std::is_floating_point_v<T>))
      return simd::reduce_kernels().find(op, dtype);
    else if constexpr (op == ReduceOp::sum_of_squares)
      return {nullptr, nullptr};  // for floating-point elements alone
    else
      return {row<op, T>, columns<op, T>};
  });
}

template <ReduceOp op, class A>
void merge(Accumulator* a, const Accumulator* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Accumulator other = b[i];
    step<op>(field(a[i], A{}), field(other, A{}));
  }
}

// Calls body.template operator()<op>().
template <class Body>
auto dispatch_op(ReduceOp op, Body&& body) {
  switch (op) {
    case ReduceOp::sum:
      return body.template operator()<ReduceOp::sum>();
    case ReduceOp::sum_of_squares:
      return body.template operator()<ReduceOp::sum_of_squares>();
    case ReduceOp::prod:
      return body.template operator()<ReduceOp::prod>();
    case ReduceOp::max:
      return body.template operator()<ReduceOp::max>();
    case ReduceOp::min:
      return body.template operator()<ReduceOp::min>();
    case ReduceOp::any:
      return body.template operator()<ReduceOp::any>();
    default:
      return body.template operator()<ReduceOp::all>();
  }
}

}  // namespace

ReduceLoops reduce_loops(ReduceOp op, DType dtype) {
  return dispatch_op(op, [&]<ReduceOp known>() { return plain_loops<known>(dtype); });
}

DType accumulator_dtype(ReduceOp op, DType dtype) {
  return is_floating_point(dtype) && op != ReduceOp::any && op != ReduceOp::all ? float64 : int64;
}

Accumulator reduce_start(ReduceOp op, DType dtype) {
  const bool floating = accumulator_dtype(op, dtype) == float64;
  const int64_t one = op == ReduceOp::prod || op == ReduceOp::all;
  Accumulator start;
  if (op == ReduceOp::max || op == ReduceOp::min) {
    const double sign = op == ReduceOp::max ? -1 : 1;
    if (floating)
      start.floating = sign * std::numeric_limits<double>::infinity();
    else
      start.integer = sign < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  } else if (floating) {
    start.floating = static_cast<double>(one);
  } else {
    start.integer = one;
  }
  return start;
}

void reduce_merge(ReduceOp op, DType accumulator, Accumulator* a, const Accumulator* b, int64_t count) {
  dispatch_op(op, [&]<ReduceOp known>() {
    if constexpr (known == ReduceOp::any || known == ReduceOp::all)
      merge<known, int64_t>(a, b, count);
    else if (accumulator == float64)
      merge<known, double>(a, b, count);
    else
      merge<known, int64_t>(a, b, count);
  });
}

}  // namespace tern::kernels
