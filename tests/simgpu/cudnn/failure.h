// How a call of the simulated cuDNN fails: an exception inside, a status and the last error's text outside. A
// wrong use of the library is printed as a misuse as well; what the library merely doesn't support is not.
// Any thread may call these functions; the last error's text is the thread's own, as cuDNN's is.

#pragma once

#include <cudnn.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace simdnn {

struct Failure : std::runtime_error {
  Failure(cudnnStatus_t s, const std::string& text) : std::runtime_error(text), status(s) {}
  cudnnStatus_t status;
};

/// Throws Failure with `text` unless the condition holds.
inline void demand(bool condition, cudnnStatus_t status, const std::string& text) {
  if (!condition) throw Failure(status, text);
}
/// The same with BAD_PARAM.
inline void demand(bool condition, const std::string& text) {
  demand(condition, CUDNN_STATUS_BAD_PARAM, text);
}

/// Runs the body of the API function `call` and answers its status.
cudnnStatus_t answer(const char* call, const std::function<void()>& body);

/// Keeps a text for cudnnGetLastErrorString although the call succeeds.
void remember(const std::string& text);

/// The text that cudnnGetLastErrorString answers next, which takes it away.
std::string take_last_error();

/// CUDNN_STATUS_… of a status.
const char* status_name(cudnnStatus_t status);

/// "[2, 3, 4]"
template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string text = "[";
  for (const auto& number : numbers) text += (text.size() == 1 ? "" : ", ") + std::to_string(number);
  return text + "]";
}

}  // namespace simdnn
