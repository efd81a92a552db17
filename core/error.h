// Errors, and the one function that raises them.
//
// Wrong use of the library throws `Error`. Where a caller may recover (a file that is not there, a peer that
// died) a derived type says so. A message names the operation, what is required and what came:
//   check(x.dim() == 4, "conv2d: input must be [N, C, H, W], got ", x.shape());
// The text is put together only on failure.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tern {

/// Wrong use of the library: shapes, dtypes, devices or arguments that do not fit.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file or a download that is missing, damaged or of another kind than expected.
class IoError : public Error {
 public:
  using Error::Error;
};

/// A collective or a rendezvous that failed: a time-out, a dead peer, ranks that disagree.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// A call of CUDA or of one of its libraries that failed.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// A truth value together with the place in the source that asked for it.
/// (`std::source_location` as a default argument breaks clang 14; the builtins do not.)
struct Condition {
  bool holds;
  const char* file;
  int line;
  template <class T>
  Condition(const T& value, const char* source_file = __builtin_FILE(), int source_line = __builtin_LINE())
      : holds(static_cast<bool>(value)), file(source_file), line(source_line) {}
};

namespace detail {
/// `message` followed by the source position, with the folders above the project left out.
std::string with_place(const std::string& message, const char* file, int line);

template <class E, class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void raise(const Condition& condition, const Parts&... message) {
  std::ostringstream text;
  text << std::boolalpha;
  (text << ... << message);
  throw E(with_place(text.str(), condition.file, condition.line));
}
}  // namespace detail

/// Throws `Error` with the parts of `message` streamed one after another, unless `condition` holds.
template <class... Parts>
void check(const Condition& condition, const Parts&... message) {
  if (!condition.holds) [[unlikely]]
    detail::raise<Error>(condition, message...);
}

/// Like check(), with another type of error: `check_as<IoError>(file, "cannot open ", path)`.
template <class E, class... Parts>
void check_as(const Condition& condition, const Parts&... message) {
  if (!condition.holds) [[unlikely]]
    detail::raise<E>(condition, message...);
}

/// Called inside a catch block: throws what was caught anew with `where` in front of its text and the
/// original nested in it. IoError, DistributedError and CudaError keep their type; what is no Error becomes
/// one.
[[noreturn]] void rethrow_with(const std::string& where);

}  // namespace tern
