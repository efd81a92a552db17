#include <tern/autograd/anomaly.h>
#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <string>

using namespace tern;
using namespace tern::tests;

namespace {

std::string message_of(const Tensor& loss) {
  try {
    backward(loss, {.retain_graph = true});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("anomaly mode names the operation whose gradient is the first NaN, and where its result went") {
  const Tensor x = tensor_of({-1, 2}, {2}).requires_grad_();
  const Tensor loss = sum(sqrt(x * 1.0) * 0.0 + 1);
  CHECK(message_of(loss) == "");
  {
    const AnomalyGuard anomaly;
    const std::string message = message_of(loss);
    CHECK(message.find("backward of sqrt gave NaN in the gradient of its input 0, of shape [2]") == 0);
    CHECK(message.find("held none; its result went into mul, add, sum") != std::string::npos);
    CHECK(message_of(sum(x * 2)) == "");
    const AnomalyGuard off(false);
    CHECK(message_of(loss) == "");
  }
  CHECK_FALSE(is_anomaly_detected());
}
