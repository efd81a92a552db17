// Tensors inside other values, for what data-parallel modules take and return.
//
// Looked into are, at any depth: std::vector, std::array, std::pair, std::tuple, std::map, std::optional, and
// structs whose members are all Tensors (data/sample.h). Anything else is a plain value.
#pragma once

#include <tern/core/error.h>
#include <tern/data/sample.h>

#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tern::nn::parallel::detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <>
inline constexpr bool is_vector<std::vector<bool>> = false;

template <class T>
inline constexpr bool is_map = false;
template <class K, class V, class C, class A>
inline constexpr bool is_map<std::map<K, V, C, A>> = true;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Calls action(tensor) for each tensor in `value`, in a fixed order, undefined ones included; when `value`
/// is not const, action may replace them.
template <class T, class Action>
void each_tensor(T& value, const Action& action) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Tensor>) {
    action(value);
  } else if constexpr (is_vector<Plain>) {
    for (auto& element : value) each_tensor(element, action);
  } else if constexpr (is_map<Plain>) {
    for (auto& [key, element] : value) each_tensor(element, action);
  } else if constexpr (is_optional<Plain>) {
    if (value) each_tensor(*value, action);
  } else if constexpr (data::detail::TupleLike<Plain>) {
    std::apply([&](auto&... element) { (each_tensor(element, action), ...); }, value);
  } else if constexpr (data::TensorStruct<Plain>) {
    data::Tensors members = data::tensors_of(value);
    for (Tensor& member : members) action(member);
    if constexpr (!std::is_const_v<T>) value = data::made_of<Plain>(std::move(members));
  }
}

/// Throws Error unless `a` and `b`, outputs of two replicas, hold tensors in the same places and equal values
/// elsewhere.
template <class T>
void check_same_structure(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Tensor>) {
    check(a.defined() == b.defined(), "gather: a tensor is defined in the output of some replicas only");
  } else if constexpr (is_vector<T>) {
    check(a.size() == b.size(), "gather: the replicas returned lists of ", a.size(), " and ", b.size());
    for (size_t i = 0; i < a.size(); ++i) check_same_structure(a[i], b[i]);
  } else if constexpr (is_map<T>) {
    check(a.size() == b.size(), "gather: the replicas returned maps of ", a.size(), " and ", b.size(),
          " keys");
    for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
      check(x->first == y->first, "gather: the replicas returned maps with different keys");
      check_same_structure(x->second, y->second);
    }
  } else if constexpr (is_optional<T>) {
    check(a.has_value() == b.has_value(), "gather: some replicas only returned an optional value");
    if (a) check_same_structure(*a, *b);
  } else if constexpr (data::detail::TupleLike<T>) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      (check_same_structure(std::get<I>(a), std::get<I>(b)), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (data::TensorStruct<T>) {
    const data::Tensors x = data::tensors_of(a), y = data::tensors_of(b);
    for (size_t i = 0; i < x.size(); ++i) check_same_structure(x[i], y[i]);
  } else {
    check(a == b,
          "gather: the replicas returned different values that are no tensors; return them as tensors");
  }
}

}  // namespace tern::nn::parallel::detail
