// The gradient of a function at a place, for tests of single values.
#pragma once

#include <tern/autograd/backward.h>
#include <tern/autograd/reductions.h>
#include <tern/tests/support/layouts.h>

namespace tern::tests {

/// The gradient of sum(function(x)) at x.
template <class Function>
Tensor slope_at(const Tensor& x, Function function) {
  const Tensor leaf = laid_out(x, Lay::contiguous).requires_grad_();
  backward(sum(function(leaf)));
  return leaf.grad();
}
/// The same at the numbers of one row.
template <class Function>
Tensor slope(const std::vector<double>& x, Function function) {
  return slope_at(row(x), function);
}

}  // namespace tern::tests
