// What the functions of collectives.h share: checks of arguments, and dense stand-ins for strided tensors.
// All of it happens on the caller's thread, before the call gets its number: what fails here has sent
// nothing.
#pragma once

#include <tern/distributed/collectives.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/fill.h>
#include <tern/kernels/reduce.h>

#include <algorithm>
#include <map>

namespace tern::distributed {

inline Group chosen(const Group& group) { return group ? group : default_group(); }

inline void check_tensor(const ProcessGroup& group, const Tensor& x, const char* operation,
                         const char* what) {
  check(x.defined(), operation, ": ", what, " is undefined");
  check(group.serves(x.device()), operation, ": group '", group.name(), "' has no transport for tensors on ",
        x.device(), ", the device of ", what);
}

inline void check_result(const ProcessGroup& group, const Tensor& x, const char* operation,
                         const char* what) {
  check_tensor(group, x, operation, what);
  kernels::check_no_overlap(x, operation);
}

/// Results of one dtype: each as check_result() wants it, and no element in two of them.
inline void check_results(const std::vector<Tensor>& list, const char* operation) {
  bool may_meet = false;
  for (size_t i = 0; i < list.size(); ++i) {
    kernels::check_no_overlap(list[i], operation);
    for (size_t k = 0; k < i; ++k)
      may_meet |= kernels::is_read_after_written(list[i], list[k]) || list[i].data() == list[k].data();
  }
  if (!may_meet) return;
  std::map<const void*, Tensor> marks;  // of the elements of each storage that a result has
  int64_t end = 0;
  for (const Tensor& x : list) end = std::max(end, x.layout().end());
  for (const Tensor& x : list) {
    if (x.numel() == 0) continue;
    Tensor& all = marks[&*x.storage()];
    if (!all.defined()) all = zeros({end}, boolean);
    const Tensor own = all.with_layout(x.layout());
    check(!kernels::any(own).item<bool>(), operation, ": two results share elements");
    kernels::fill(own, true);
  }
}

inline void check_like(const Tensor& x, const Tensor& model, const char* operation, const char* what) {
  check(x.dtype() == model.dtype() && x.device() == model.device(), operation, ": ", what,
        " must be of dtype ", model.dtype(), " on ", model.device(), ", got ", x.dtype(), " on ", x.device());
}

inline void check_reduction(ReduceOp op, DType dtype, const char* operation) {
  check(op <= ReduceOp::product, operation, ": there is no reduction number ", static_cast<int>(op));
  check(op != ReduceOp::avg || is_floating_point(dtype), operation,
        ": an average needs a floating-point tensor, got ", dtype);
  check(op != ReduceOp::sum || dtype != boolean, operation, ": bools have no sum; use min, max or product");
}

/// x itself when its elements lie in row-major order without gaps, otherwise a copy that does.
inline Tensor dense(const Tensor& x) { return kernels::contiguous(x); }

/// What a backend writes in place of x: x itself or a new tensor.
inline Tensor dense_result(const Tensor& x) {
  return x.is_contiguous() ? x : empty(x.shape(), x.dtype(), x.device());
}

/// Brings what was written to `written` into `x`, for which it stood.
inline void deliver(const Tensor& written, const Tensor& x) {
  if (!written.is_same(x)) kernels::copy(written, x);
}

/// dense(x), copied when writing `out` would change it.
inline Tensor dense_apart_from(const Tensor& x, const Tensor& out) {
  return x.storage() == out.storage() ? kernels::clone(dense(x)) : dense(x);
}

/// Calls body(tensor, its piece of `all`) for the tensors, which lie in `all` one after another.
template <class Body>
void each_piece(const Tensor& all, const std::vector<Tensor>& list, const Body& body) {
  int64_t offset = all.layout().offset;
  for (const Tensor& x : list) {
    body(x, all.with_layout(Layout(x.shape(), dense_strides(x.shape()), offset)));
    offset += x.numel();
  }
}

/// The tensors' elements one after another.
inline Tensor joined(const std::vector<Tensor>& list) {
  const Tensor& first = list.front();
  int64_t count = 0;
  for (const Tensor& x : list)
    check(!__builtin_add_overflow(count, x.numel(), &count), "collective: tensors are too large together");
  const Tensor all = empty({count}, first.dtype(), first.device());
  each_piece(all, list, [](const Tensor& x, const Tensor& piece) { kernels::copy(x, piece); });
  return all;
}

inline void deliver(const Tensor& all, const std::vector<Tensor>& list) {
  each_piece(all, list, [](const Tensor& x, const Tensor& piece) { kernels::copy(piece, x); });
}

inline std::vector<Tensor> detached(const std::vector<Tensor>& list) {
  std::vector<Tensor> result;
  result.reserve(list.size());
  for (const Tensor& x : list) result.push_back(x.detach());
  return result;
}

inline void bump_versions(const std::vector<Tensor>& list) {
  for (const Tensor& x : list) x.bump_version();
}

}  // namespace tern::distributed
