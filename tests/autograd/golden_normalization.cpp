#include <tern/autograd/functional.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

Tensor given(const Tensors& x, size_t i) { return i < x.size() ? x[i] : Tensor(); }

Tensors golden_batch_norm(const Tensors& x, const Parameters& p) {
  const Tensor y =
      batch_norm(x[0], x[1], x[2], given(x, 3), given(x, 4),
                 {.training = p.flag("training"), .momentum = p.number("momentum"), .eps = p.number("eps")});
  return {y, x[1], x[2]};
}

Tensors golden_layer_norm(const Tensors& x, const Parameters& p) {
  return {layer_norm(x[0], p.list("shape"), given(x, 1), given(x, 2), p.number("eps"))};
}

Tensors golden_rms_norm(const Tensors& x, const Parameters& p) {
  const auto eps = p.has("eps") ? std::optional(p.number("eps")) : std::nullopt;
  return {rms_norm(x[0], p.list("shape"), given(x, 1), eps)};
}

Tensors golden_group_norm(const Tensors& x, const Parameters& p) {
  const auto groups = static_cast<int64_t>(p.number("groups"));
  return {group_norm(x[0], groups, given(x, 1), given(x, 2), p.number("eps"))};
}

}  // namespace

TEST_CASE("normalisation gives PyTorch's values, gradients and running statistics") {
  CHECK(golden_problems("normalization.safetensors", {{"batch_norm", golden_batch_norm},
                                                      {"layer_norm", golden_layer_norm},
                                                      {"rms_norm", golden_rms_norm},
                                                      {"group_norm", golden_group_norm}}) == "");
}
