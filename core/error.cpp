#include <tern/core/error.h>

#include <cstring>

namespace tern::detail {

std::string with_place(const std::string& message, const char* file, int line) {
  // A build names its sources relative to the build folder; what follows the last "../" or "tern/" is ours.
  std::string place = file;
  for (const char* marker : {"../", "include/tern/"}) {
    const size_t at = place.rfind(marker);
    if (at != std::string::npos) place = place.substr(at + std::strlen(marker));
  }
  return message + " (" + place + ":" + std::to_string(line) + ")";
}

}  // namespace tern::detail
