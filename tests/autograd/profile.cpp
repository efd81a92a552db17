// Which names operations show under in a profile.
#include <tern/core/profile_recording.h>
#include <tern/tern.h>
#include <tern/tests/autograd/operation_list.h>

#include <doctest/doctest.h>

#include <set>

using namespace tern;
using namespace tern::tests;

namespace {

// As "conv2d", and "conv2d backward" for gradients.
template <class Function>
std::multiset<std::string> names_in(Function function) {
  const ProfileRecording recording(10'000);
  function();
  std::multiset<std::string> names;
  for (const ProfileThread& thread : recording.threads()) {
    for (const ProfileEvent& event : thread.events)
      names.insert(std::string(event.name) + (event.kind == ProfileKind::backward ? " backward" : ""));
  }
  return names;
}

}  // namespace

TEST_CASE(
    "every operation shows in a profile under its name, once a call, but for those composed of others") {
  const std::set<std::string> composed{"zero_", "logical_not", "t",       "flatten",
                                       "index", "movedim",     "swapaxes"};
  for (const OperationSection& section : operation_list()) {
    for (const OperationEntry& operation : section.operations) {
      CAPTURE(operation.name);
      const bool integers = operation.name == "one_hot" || operation.name == "bincount";
      const auto names = names_in([&] { operation.call(integers ? int64 : float16); });
      const size_t made_by_it = operation.name == "to" ? 1 : 0;  // the call's operand
      CHECK(names.count(operation.name) == made_by_it + (composed.contains(operation.name) ? 0 : 1));
      CHECK_FALSE(names.empty());
    }
  }
}

TEST_CASE("gradients show under the name of their operation, inside backward") {
  const Tensor x = randn({1, 2, 5, 5}).requires_grad_(), w = randn({3, 2, 3, 3}).requires_grad_();
  const Tensor loss = mean(tanh(conv2d(x, w)) + conv2d(x, w));
  const auto names = names_in([&] { backward(loss); });
  for (const char* name : {"backward", "mean backward", "add backward", "tanh backward"})
    CHECK_MESSAGE(names.count(name) == 1, name);
  CHECK(names.count("conv2d backward") == 2);
  CHECK(names.count("accumulate_grad") == 4);  // x and w, twice each
  CHECK(names.count("conv2d") == 0);
  const Tensor y = sum(square(w));
  CHECK(names_in([&] { grad(y, {w}); }).count("grad") == 1);
}

TEST_CASE("an operation that refuses its input leaves the profile sound") {
  const auto names = names_in([] {
    const ProfileScope scope("around");
    CHECK_THROWS_AS(matmul(ones({2, 3}), ones({2, 3})), Error);
    relu(ones({2}));
  });
  CHECK(names == std::multiset<std::string>{"around", "matmul", "relu"});
}

TEST_CASE("the name of a user's own operation shows for its gradient without a line of code") {
  const Tensor x = ones({3}).requires_grad_();
  const Tensor y =
      record("my_double", mul(x.detach(), 2), {x}, [](const Tensor& dy) -> Gradients { return {dy * 2}; });
  CHECK(names_in([&] { backward(sum(y)); }).count("my_double backward") == 1);
}
