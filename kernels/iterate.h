// Walking several tensors of one shape together, whatever their strides.
//
// A plan drops dimensions of size 1, sorts the others by the strides of the first operand (the output) and
// melts neighbours that all operands cross evenly, so that dense tensors of one order become one long row. A
// visit then calls a body with rows: for each operand where its row starts, and how far apart the row's
// elements lie. All positions are in elements from the tensor's first one. Making a plan costs some tens of
// nanoseconds and allocates nothing.
#pragma once

#include <tern/core/layout.h>
#include <tern/core/thread_pool.h>

#include <algorithm>
#include <initializer_list>

namespace tern::kernels {

inline constexpr int max_operands = 5;

/// Elements that one call of a parallel body covers at most.
inline constexpr int64_t iterate_block = 16384;

struct IteratePlan {
  int operands = 0;
  int dims = 0;  ///< at least 1; dimension 0 is the innermost
  int64_t numel = 0;
  int64_t sizes[max_dims];
  int64_t strides[max_dims][max_operands];
};

/// The plan for operands of these layouts, output first; each is broadcast to `shape` (sizes 1 and missing
/// leading dimensions repeat). The caller has checked that they broadcast.
IteratePlan make_plan(const Shape& shape, std::initializer_list<const Layout*> operands);

/// Calls body(const int64_t* offsets, int64_t count, const int64_t* strides) for the rows that make up
/// elements [begin, end) of the plan's order; a row is cut where the range starts or ends.
template <class Body>
void visit_rows(const IteratePlan& plan, int64_t begin, int64_t end, Body&& body) {
  int64_t index[max_dims], offsets[max_operands] = {};
  int64_t rest = begin;
  for (int d = 0; d < plan.dims; ++d) {
    index[d] = plan.dims == 1 ? rest : rest % plan.sizes[d];
    rest /= plan.sizes[d];
    for (int k = 0; k < plan.operands; ++k) offsets[k] += index[d] * plan.strides[d][k];
  }
  while (begin < end) {
    const int64_t count = std::min(plan.sizes[0] - index[0], end - begin);
    body(static_cast<const int64_t*>(offsets), count, static_cast<const int64_t*>(plan.strides[0]));
    begin += count;
    for (int k = 0; k < plan.operands; ++k) offsets[k] -= index[0] * plan.strides[0][k];
    index[0] = 0;
    for (int d = 1; d < plan.dims; ++d) {
      for (int k = 0; k < plan.operands; ++k) offsets[k] += plan.strides[d][k];
      if (++index[d] < plan.sizes[d]) break;
      for (int k = 0; k < plan.operands; ++k) offsets[k] -= plan.sizes[d] * plan.strides[d][k];
      index[d] = 0;
    }
  }
}

/// visit_rows over all elements, in blocks that several threads share. The body may be called at the same
/// time from several threads, for different elements.
template <class Body>
void for_each_row(const IteratePlan& plan, Body&& body) {
  parallel_for(plan.numel, iterate_block,
               [&](int64_t begin, int64_t end) { visit_rows(plan, begin, end, body); });
}

}  // namespace tern::kernels
