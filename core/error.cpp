#include <tern/core/error.h>

#include <cstring>
#include <exception>
#include <string_view>

namespace tern {
namespace {

template <class E>
[[noreturn]] void rethrow_as(const std::string& where, const std::string& message) {
  std::throw_with_nested(E(where + message));
}

}  // namespace

void rethrow_with(const std::string& where) {
  try {
    throw;
  } catch (const IoError& error) {
    rethrow_as<IoError>(where, error.what());
  } catch (const DistributedError& error) {
    rethrow_as<DistributedError>(where, error.what());
  } catch (const CudaError& error) {
    rethrow_as<CudaError>(where, error.what());
  } catch (const std::exception& error) {
    rethrow_as<Error>(where, error.what());
  } catch (...) {
    rethrow_as<Error>(where, "an exception that is no std::exception");
  }
}

namespace detail {
namespace {

// How the build names the project's folder; not "../" alone when the build folder lies elsewhere.
constexpr std::string_view self = __FILE__, root = self.substr(0, self.rfind("core/error.cpp"));

}  // namespace

std::string with_place(const std::string& message, const char* file, int line) {
  // A build names its sources relative to the build folder; what follows the last "../" or "tern/" is ours.
  std::string place = file;
  if (place.starts_with(root)) place = place.substr(root.size());
  for (const char* marker : {"../", "include/tern/"}) {
    const size_t at = place.rfind(marker);
    if (at != std::string::npos) place = place.substr(at + std::strlen(marker));
  }
  return message + " (" + place + ":" + std::to_string(line) + ")";
}

}  // namespace detail
}  // namespace tern
