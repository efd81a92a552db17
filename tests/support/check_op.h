// One line of test for an operation: everything that each operation must hold.
#pragma once

#include <tern/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace tern::tests {

using Inputs = std::vector<Tensor>;
using Operation = std::function<Tensor(const Inputs&)>;
/// The shape of each input.
using Shapes = std::vector<Shape>;

struct OpOptions {
  double low = -2, high = 2;     ///< what the inputs' values lie between
  double float32 = 1e-5;         ///< how far float32 may be from float64 (distance() in layouts.h)
  bool contiguous_only = false;  ///< the operation may refuse inputs of other layouts
  bool jumps = false;  ///< the gradient jumps where values are equal or rounded: neither is compared then
  std::vector<const char*> error_names = {};  ///< other names that errors may give the operation
};

/// Holds for `operation` on inputs of each of `samples`:
/// - gradients equal central differences in float64, of all elements, or of some where there are many;
/// - inputs and upstream gradients of every layout, expanded ones too, give the same values and gradients;
/// - each input's gradient is the same when the others want none;
/// - float32 agrees with float64, float16 and bfloat16 do to their rounding or throw Error naming the
///   operation, as do the integers and bool;
/// - one thread and three give the same bits, and so does a second run;
/// - inputs stay as they are, and a change in place before backward either does not matter or is refused,
///   naming the operation.
/// Throws Error that says what does not hold, and for which sample.
void check_op(const std::string& name, const Operation& operation, const std::vector<Shapes>& samples,
              const OpOptions& options = {});

/// One input: sizes around those of vectors and blocks, none, one, and up to four dimensions.
std::vector<Shapes> one_input();
/// Two inputs: of one shape, and broadcast against each other.
std::vector<Shapes> two_inputs();

}  // namespace tern::tests
