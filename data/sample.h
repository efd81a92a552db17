// What a dataset gives and a loader hands out: samples and batches as plain structs of tensors.
//
// A sample is a Tensor, a std::tuple of Tensors, or a struct whose members are all Tensors (up to eight):
// write the struct that says what they are, and loops over the loader can name them.
//   struct Tokens { Tensor ids, mask, label; };
//   for (auto& [ids, mask, label] : loader) …
// A batch is by default the same struct, each tensor with a leading dimension N. Inside the loader both are
// short lists of tensors; tensors_of() and made_of() convert.
#pragma once

#include <tern/core/inline_vector.h>
#include <tern/core/random.h>
#include <tern/core/tensor.h>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tern::data {

/// The sample of a labelled dataset, and its batch: `data` (an image [C, H, W]; images [N, C, H, W]) and
/// `target` (a class, int64, without dimensions; [N]).
struct Example {
  Tensor data;
  Tensor target;
};

/// The tensors of a sample or of a batch, in the order of their struct.
using Tensors = InlineVector<Tensor, 4>;

/// A tensor without dimensions that holds `value`, on the CPU: a class, or a regression's target.
Tensor scalar(int64_t value);
Tensor scalar(float value);

namespace detail {

struct AnyTensor {
  operator Tensor() const;
};

template <size_t>
using TensorAt = AnyTensor;

template <class S, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { S{TensorAt<I>{}...}; };
}

template <class S, size_t N = 8>
constexpr size_t members_of() {
  if constexpr (N == 0 || takes<S>(std::make_index_sequence<N>()))
    return N;
  else
    return members_of<S, N - 1>();
}

template <class S>
concept TupleLike = requires {
  std::tuple_size<S>::value;
};

template <class S>
constexpr size_t tensor_count() {
  if constexpr (std::is_same_v<S, Tensor>)
    return 1;
  else if constexpr (TupleLike<S>)
    return std::tuple_size_v<S>;
  else if constexpr (std::is_aggregate_v<S>)
    return members_of<S>();
  else
    return 0;
}

template <size_t N, class S>
Tensors members(const S& s) {
  if constexpr (N == 1) {
    const auto& [a] = s;
    return {a};
  } else if constexpr (N == 2) {
    const auto& [a, b] = s;
    return {a, b};
  } else if constexpr (N == 3) {
    const auto& [a, b, c] = s;
    return {a, b, c};
  } else if constexpr (N == 4) {
    const auto& [a, b, c, d] = s;
    return {a, b, c, d};
  } else if constexpr (N == 5) {
    const auto& [a, b, c, d, e] = s;
    return {a, b, c, d, e};
  } else if constexpr (N == 6) {
    const auto& [a, b, c, d, e, f] = s;
    return {a, b, c, d, e, f};
  } else if constexpr (N == 7) {
    const auto& [a, b, c, d, e, f, g] = s;
    return {a, b, c, d, e, f, g};
  } else if constexpr (N == 8) {
    const auto& [a, b, c, d, e, f, g, h] = s;
    return {a, b, c, d, e, f, g, h};
  }
}

}  // namespace detail

/// What can be a sample or a batch: a Tensor, or a tuple or struct of 1 to 8 Tensors.
template <class S>
concept TensorStruct = detail::tensor_count<S>()
> 0;

template <TensorStruct S>
Tensors tensors_of(const S& sample) {
  if constexpr (std::is_same_v<S, Tensor>)
    return {sample};
  else if constexpr (detail::TupleLike<S>)
    return std::apply([](const auto&... tensor) { return Tensors{tensor...}; }, sample);
  else
    return detail::members<detail::members_of<S>()>(sample);
}

/// The struct S with the given tensors as its members; there must be as many as it has.
template <TensorStruct S>
S made_of(Tensors&& tensors) {
  constexpr size_t count = detail::tensor_count<S>();
  check(tensors.size() == count, "batch: expected ", count, " tensors, got ", tensors.size());
  return [&]<size_t... I>(std::index_sequence<I...>) { return S{std::move(tensors[I])...}; }
  (std::make_index_sequence<count>());
}

namespace detail {

template <class D>
auto get_sample(const D& dataset, int64_t index, PhiloxStream& random) {
  if constexpr (requires { dataset.get(index, random); })
    return dataset.get(index, random);
  else
    return dataset.get(index);
}

}  // namespace detail

/// What a dataset is: any class with `int64_t size() const` and `get(int64_t index) const`, or
/// `get(int64_t index, PhiloxStream& random) const` when samples are drawn with chance. Both are called from
/// several threads at once. `random` depends on nothing but the loader's seed, the epoch and the index.
template <class D>
concept Dataset = requires(const D& dataset, PhiloxStream& random) {
  { dataset.size() } -> std::convertible_to<int64_t>;
  { detail::get_sample(dataset, int64_t{0}, random) } -> TensorStruct;
};

/// The type of a dataset's samples.
template <Dataset D>
using SampleOf = decltype(detail::get_sample(std::declval<const D&>(), 0, std::declval<PhiloxStream&>()));

}  // namespace tern::data
