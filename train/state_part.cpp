#include <tern/train/state_part.h>

#include <tern/distributed/init.h>
#include <tern/kernels/creation.h>

#include <algorithm>
#include <bit>

namespace tern::train {
namespace {

int64_t ranks_now() { return distributed::is_initialized() ? distributed::get_world_size() : 1; }

int64_t number_in(const TensorMap& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  check(found != tensors.end() && found->second.dtype() == int64 && found->second.numel() == 1,
        "load_state: \"", name, "\" must be a whole number");
  return found->second.item<int64_t>();
}

void check_names(const TensorMap& tensors, const TensorMap& expected) {
  for (const auto& [name, tensor] : tensors)
    check(expected.contains(name), "load_state: \"", name, "\" is unexpected");
}

}  // namespace

namespace detail {

TensorMap tensors_of(const data::DataLoaderState& state) {
  return {{"batch", full({}, state.batch, int64)},
          {"epoch", full({}, state.epoch, int64)},
          {"ranks", full({}, ranks_now(), int64)}};
}

TensorMap tensors_of(const RandomState& state) {
  return {{"offset", full({}, std::bit_cast<int64_t>(state.offset), int64)},
          {"seed", full({}, std::bit_cast<int64_t>(state.seed), int64)}};
}

data::DataLoaderState loader_state_of(const TensorMap& tensors) {
  check_names(tensors, tensors_of(data::DataLoaderState()));
  const data::DataLoaderState state{number_in(tensors, "epoch"), number_in(tensors, "batch")};
  const int64_t ranks = number_in(tensors, "ranks");
  check(state.batch == 0 || ranks == ranks_now(), "load_state: the DataLoader stood at batch ", state.batch,
        " of an epoch that ", ranks, " ranks shared; ", ranks_now(),
        " cannot go on there, but from a state that was saved between epochs");
  return state;
}

RandomState random_state_of(const TensorMap& tensors) {
  check_names(tensors, tensors_of(RandomState()));
  return {std::bit_cast<uint64_t>(number_in(tensors, "seed")),
          std::bit_cast<uint64_t>(number_in(tensors, "offset"))};
}

}  // namespace detail

StatePart::StatePart(std::string part_name) : name(std::move(part_name)) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  tern::check(!name.empty() && std::all_of(name.begin(), name.end(), plain), "StatePart: the name \"", name,
              "\" must consist of letters, digits, '_' and '-'");
  tern::check(name != "rank", "StatePart: \"rank\" is the name of what each rank has of its own");
}

}  // namespace tern::train
