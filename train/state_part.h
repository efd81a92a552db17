// StatePart: one of the things that make up a run's state, whatever its type.
#pragma once

#include <tern/core/error.h>
#include <tern/core/random.h>
#include <tern/core/safetensors.h>
#include <tern/data/loader_core.h>

#include <concepts>
#include <functional>
#include <string>

namespace tern::train {

namespace detail {
TensorMap tensors_of(const data::DataLoaderState& state);
TensorMap tensors_of(const RandomState& state);
data::DataLoaderState loader_state_of(const TensorMap& tensors);
RandomState random_state_of(const TensorMap& tensors);

template <class T>
concept WithStateDict = requires(T& x, const TensorMap& state) {
  { x.state_dict() } -> std::convertible_to<TensorMap>;
  x.load_state_dict(state);
};
template <class T>
concept LikeLoader = requires(T& x) {
  { x.state() } -> std::convertible_to<data::DataLoaderState>;
  x.load_state(x.state());
};
template <class T>
concept LikeGenerator = requires(T& x) {
  { x.state() } -> std::convertible_to<RandomState>;
  x.set_state(x.state());
};
}  // namespace detail

/// A part of a run, by name: `{"optimizer", optimizer}`. It refers to the part, which must outlive it.
class StatePart {
 public:
  /// `part` is anything with state_dict() (a TensorMap) and load_state_dict(): a module, an optimizer, a
  /// schedule, a GradScaler, a class of one's own; or a DataLoader (its position), or a Generator. Names
  /// begin the tensors' names in the file: letters, digits, '_' and '-', at least one (Error).
  template <class T>
  requires detail::WithStateDict<T> || detail::LikeLoader<T> || detail::LikeGenerator<T> StatePart(
      std::string name, T& part)
      : StatePart(std::move(name)) {
    if constexpr (detail::WithStateDict<T>) {
      save = [&part]() -> TensorMap { return part.state_dict(); };
      load = [&part](const TensorMap& state) { part.load_state_dict(state); };
      if constexpr (requires(const TensorMap& state) { part.check_state_dict(state); })
        check = [&part](const TensorMap& state) { part.check_state_dict(state); };
    } else if constexpr (detail::LikeLoader<T>) {
      save = [&part] { return detail::tensors_of(part.state()); };
      load = [&part](const TensorMap& state) { part.load_state(detail::loader_state_of(state)); };
    } else {
      save = [&part] { return detail::tensors_of(part.state()); };
      load = [&part](const TensorMap& state) { part.set_state(detail::random_state_of(state)); };
    }
    if constexpr (requires { part.consolidate_state_dict(0); }) {
      gather = [&part](int rank) { part.consolidate_state_dict(rank); };
      save_own = [&part]() -> TensorMap { return part.local_state_dict(); };
    }
  }

  // What save_state() and load_state() work with; functions that a part has no need of are empty.
  std::string name;
  std::function<TensorMap()> save;              ///< all of it (after gather(), on that rank)
  std::function<void(const TensorMap&)> load;   ///< takes what save() or all ranks' save_own() gave
  std::function<void(const TensorMap&)> check;  ///< throws what load() would throw, and changes nothing
  std::function<void(int)> gather;              ///< on all ranks: brings all of it to one of the job
  std::function<TensorMap()> save_own;          ///< what this rank alone holds

 private:
  explicit StatePart(std::string name);
};

}  // namespace tern::train
