// Loading a state: what fits, and what is refused before anything changes.
#include <tern/autograd/convert.h>
#include <tern/core/safetensors.h>
#include <tern/kernels/creation.h>
#include <tern/nn/layers.h>
#include <tern/nn/linear.h>
#include <tern/nn/sequential.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

nn::Sequential two_layers() { return nn::Sequential(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2)); }

TensorMap copy_of(const TensorMap& state) {
  TensorMap result;
  for (const auto& [name, tensor] : state) result[name] = laid_out(tensor, Lay::contiguous);
  return result;
}

bool same_state(const TensorMap& a, const TensorMap& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& entry) {
           return b.contains(entry.first) && bits_equal(entry.second, b.at(entry.first));
         });
}

}  // namespace

TEST_CASE("a state goes through a file into another model") {
  const TemporaryFolder folder;
  nn::Sequential model = two_layers(), other = two_layers();
  CHECK_FALSE(same_state(model.state_dict(), other.state_dict()));
  save_safetensors(folder.file("model"), model.state_dict());
  other.load_state_dict(load_safetensors(folder.file("model")).tensors);
  CHECK(same_state(model.state_dict(), other.state_dict()));
  const Tensor x = scattered({5, 3}, -2, 2, float32);
  CHECK(bits_equal(model(x), other(x)));
}

TEST_CASE("loading copies into the tensors that are there, whatever lies how, and counts as a write") {
  nn::Linear model(3, 4);
  const Tensor weight = model.weight;
  const uint64_t before = weight.version();
  const Tensor values = laid_out(scattered({4, 3}), Lay::reversed);
  model.load_state_dict({{"weight", values}, {"bias", zeros({4}, bfloat16)}});
  CHECK(model.weight.is_same(weight));
  CHECK(weight.version() > before);
  CHECK(weight.requires_grad());
  CHECK(weight.dtype() == float32);  // the model's dtype, not the file's
  CHECK(bits_equal(weight, to(values, float32)));
  CHECK(values_of(model.bias) == std::vector<double>(4, 0));
  CHECK_FALSE(weight.storage() == values.storage());
}

TEST_CASE("a state that does not fit is refused with all names, and changes nothing") {
  const nn::Sequential model = two_layers();
  const TensorMap before = copy_of(model.state_dict());
  TensorMap state;
  for (const auto& [name, tensor] : before) state[name] = zeros(tensor.shape());
  state.erase("0.weight");
  state.erase("2.bias");
  state["2.weight"] = zeros({4, 2});
  state["0.bias"] = zeros({1});
  state["2.scale"] = zeros({1});
  state["3.weight"] = zeros({1});
  const std::string expected =
      "load_state_dict: the state does not fit the module; missing: 0.weight 2.bias; unexpected: 2.scale "
      "3.weight; of another shape: 0.bias (is [4], came [1]) 2.weight (is [2, 4], came [4, 2])";
  CHECK(fails_with(expected, [&] { model.load_state_dict(state); }));
  CHECK(fails_with(expected, [&] { model.check_state_dict(state); }));
  CHECK(same_state(model.state_dict(), before));
}

TEST_CASE("without strict, missing and unexpected names are passed over, other shapes are not") {
  const nn::Sequential model = two_layers();
  const TensorMap before = copy_of(model.state_dict());
  model.load_state_dict({{"0.bias", ones({4})}, {"7.bias", ones({4})}}, false);
  CHECK(bits_equal(model.state_dict().at("0.bias"), ones({4})));
  CHECK(bits_equal(model.state_dict().at("0.weight"), before.at("0.weight")));
  CHECK(fails_with("does not fit the module; of another shape: 0.bias (is [4], came [2])", [&] {
    model.load_state_dict({{"0.bias", zeros({2})}, {"0.weight", zeros({4, 3})}}, false);
  }));
  CHECK(bits_equal(model.state_dict().at("0.weight"), before.at("0.weight")));
}

TEST_CASE("check_state_dict changes nothing") {
  const nn::Sequential model = two_layers();
  const TensorMap before = copy_of(model.state_dict());
  TensorMap state;
  for (const auto& [name, tensor] : before) state[name] = zeros(tensor.shape());
  model.check_state_dict(state);
  CHECK(same_state(model.state_dict(), before));
}

TEST_CASE("an undefined tensor in a state is refused") {
  const nn::Linear model(3, 4);
  const TensorMap before = copy_of(model.state_dict());
  for (const bool strict : {true, false}) {
    CHECK(fails_with("does not fit the module; undefined: weight", [&] {
      model.load_state_dict({{"weight", Tensor()}, {"bias", zeros({4})}}, strict);
    }));
  }
  CHECK(same_state(model.state_dict(), before));
}
