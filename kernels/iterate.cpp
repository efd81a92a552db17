#include <tern/kernels/iterate.h>

namespace tern::kernels {
namespace {

// The place among `dims` dimensions, innermost first, for one with these strides: by the output's stride, and
// where that is equal by the next operand's.
int find_place(const IteratePlan& plan, const int64_t* strides) {
  int place = plan.dims;
  while (place > 0) {
    const int64_t* inner = plan.strides[place - 1];
    int k = 0;
    while (k < plan.operands - 1 && inner[k] == strides[k]) ++k;
    if (inner[k] <= strides[k]) break;
    --place;
  }
  return place;
}

void insert_dim(IteratePlan& plan, int64_t size, const int64_t* strides) {
  const int place = find_place(plan, strides);
  for (int d = plan.dims; d > place; --d) {
    plan.sizes[d] = plan.sizes[d - 1];
    std::copy_n(plan.strides[d - 1], plan.operands, plan.strides[d]);
  }
  plan.sizes[place] = size;
  std::copy_n(strides, plan.operands, plan.strides[place]);
  ++plan.dims;
}

void coalesce(IteratePlan& plan) {
  int last = 0;
  for (int d = 1; d < plan.dims; ++d) {
    bool even = true;
    for (int k = 0; k < plan.operands; ++k) {
      even &= plan.strides[d][k] == plan.strides[last][k] * plan.sizes[last];
    }
    if (even) {
      plan.sizes[last] *= plan.sizes[d];
    } else if (++last != d) {
      plan.sizes[last] = plan.sizes[d];
      std::copy_n(plan.strides[d], plan.operands, plan.strides[last]);
    }
  }
  plan.dims = last + 1;
}

}  // namespace

IteratePlan make_plan(const Shape& shape, std::initializer_list<const Layout*> operands) {
  IteratePlan plan;
  plan.operands = static_cast<int>(operands.size());
  plan.numel = shape.numel();
  // Of nothing, sizes may multiply to more than 64 bits: no dimension is needed.
  for (int i = plan.numel > 0 ? shape.dim() - 1 : -1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    int64_t strides[max_operands];
    for (int k = 0; k < plan.operands; ++k) {
      const Layout& layout = *operands.begin()[k];
      const int own = i - (shape.dim() - layout.dim());
      strides[k] = own < 0 || layout.shape[own] == 1 ? 0 : layout.strides[own];
    }
    insert_dim(plan, shape[i], strides);
  }
  if (plan.dims == 0) {
    plan.dims = 1;
    plan.sizes[0] = 1;
    std::fill_n(plan.strides[0], plan.operands, 1);
  }
  coalesce(plan);
  return plan;
}

}  // namespace tern::kernels
