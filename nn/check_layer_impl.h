// The template of check_layer.h.
#pragma once

#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/core/random.h>

#include <utility>

namespace tern::nn {

template <std::derived_from<Module> L, class... Inputs>
void check_layer(const L& layer, const Inputs&... inputs) {
  L plain = clone(layer), subject = clone(layer);
  subject.to(float64);
  // Members are looked for in the layer's own dtype: one that is not listed stays behind in a change to
  // another.
  const std::vector<Tensor> listed = plain.parameters();
  const DType own = listed.empty() ? float32 : listed[0].dtype();
  std::vector<Tensor> given, arguments;
  for (const Tensor& input : std::initializer_list<Tensor>{inputs...}) {
    const bool floating = is_floating_point(input.dtype());
    given.push_back(floating ? tern::to(input.detach(), own) : input);
    arguments.push_back(floating ? tern::clone(tern::to(input.detach(), float64)).requires_grad_() : input);
  }
  const auto call = [](L& module, const std::vector<Tensor>& list) {
    manual_seed(7);
    return [&]<size_t... I>(std::index_sequence<I...>)->Tensor { return module(list[I]...); }
    (std::index_sequence_for<Inputs...>());
  };
  detail::check_members(plain, call(plain, given));
  gradient_check([&](const std::vector<Tensor>& list) { return call(subject, list); },
                 detail::checked_tensors(subject, arguments));
  L twin = clone(subject);
  detail::check_state(subject, twin);
  check(equal(call(subject, arguments), call(twin, arguments)), subject.describe(),
        ": a clone computes something else; is a member not listed?");
}

}  // namespace tern::nn
