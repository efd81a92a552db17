// Small tensors for the tests of core, where no operations exist yet.
#pragma once

#include <tern/core/tensor.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace tern::tests {

/// A contiguous tensor of `shape` whose element i, in row-major order, is value(i).
template <class T>
Tensor generate(const Shape& shape, const std::function<T(int64_t)>& value) {
  Tensor x = empty(shape, dtype_of<T>());
  for (int64_t i = 0; i < x.numel(); ++i) x.data<T>()[i] = value(i);
  return x;
}

template <class T>
Tensor make(const Shape& shape, const std::vector<T>& values) {
  return generate<T>(shape, [&](int64_t i) { return values.at(static_cast<size_t>(i)); });
}

/// 0, step, 2 step, …
template <class T>
Tensor counted(const Shape& shape, double step = 1) {
  return generate<T>(shape, [&](int64_t i) { return static_cast<T>(static_cast<double>(i) * step); });
}

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The text of the error that `action` throws, or "no error".
template <class E = Error>
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tern::tests
