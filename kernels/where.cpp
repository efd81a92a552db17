#include <tern/kernels/where.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/pointwise.h>

namespace tern::kernels {
namespace {

// Dense rows, where a and b are rows too or one element for all. Both are read before the choice: a load that
// depends on it would keep the loop from being vectorised.
template <bool a_is_row, bool b_is_row, class Bits>
void choose_dense(const bool* c, const Bits* __restrict a, const Bits* __restrict b, int64_t count,
                  Bits* __restrict y) {
  const Bits first_a = *a, first_b = *b;
  for (int64_t i = 0; i < count; ++i) {
    const Bits left = a_is_row ? a[i] : first_a, right = b_is_row ? b[i] : first_b;
    const Bits mask = static_cast<Bits>(-static_cast<Bits>(c[i]));
    y[i] = static_cast<Bits>((left & mask) | (right & static_cast<Bits>(~mask)));
  }
}

// Elements are moved, not computed with: only their size counts.
template <class Bits>
void choose(const IteratePlan& plan, const Tensor& condition, const Tensor& a, const Tensor& b,
            const Tensor& y) {
  const bool* const which = condition.data<bool>();
  const Bits* const from_a = static_cast<const Bits*>(a.data());
  const Bits* const from_b = static_cast<const Bits*>(b.data());
  Bits* const to = static_cast<Bits*>(y.data());
  for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
    const bool* c = which + offsets[1];
    const Bits *left = from_a + offsets[2], *right = from_b + offsets[3];
    Bits* out = to + offsets[0];
    const int64_t a_step = strides[2], b_step = strides[3];
    if (strides[0] == 1 && strides[1] == 1 && a_step == 1 && b_step == 1)
      choose_dense<true, true>(c, left, right, count, out);
    else if (strides[0] == 1 && strides[1] == 1 && a_step == 0 && b_step == 1)
      choose_dense<false, true>(c, left, right, count, out);
    else if (strides[0] == 1 && strides[1] == 1 && a_step == 1 && b_step == 0)
      choose_dense<true, false>(c, left, right, count, out);
    else
      for (int64_t i = 0; i < count; ++i)
        out[i * strides[0]] = c[i * strides[1]] ? left[i * a_step] : right[i * b_step];
  });
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_same_device(condition, a, "where");
  check_same_device(a, b, "where");
  check(condition.dtype() == boolean, "where: the condition must be bool, got ", condition.dtype());
  const Shape shape =
      broadcast_shapes(broadcast_shapes(a.shape(), b.shape(), "where"), condition.shape(), "where");
  const DType dtype = result_type(a, b);
  const Tensor left = to(a, dtype), right = to(b, dtype);
  const Tensor y =
      empty_strided(shape, result_strides(shape, {&left, &right, &condition}), dtype, a.device());
  const IteratePlan plan =
      make_plan(shape, {&y.layout(), &condition.layout(), &left.layout(), &right.layout()});
  switch (size_of(dtype)) {
    case 1:
      choose<uint8_t>(plan, condition, left, right, y);
      break;
    case 2:
      choose<uint16_t>(plan, condition, left, right, y);
      break;
    case 4:
      choose<uint32_t>(plan, condition, left, right, y);
      break;
    default:
      choose<uint64_t>(plan, condition, left, right, y);
  }
  return y;
}

}  // namespace tern::kernels
