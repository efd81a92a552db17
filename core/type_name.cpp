#include <tern/core/type_name.h>

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace tern {

std::string short_type_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
  const std::string full = status == 0 ? name.get() : mangled;
  int inside = 0;  // the arguments of templates
  for (size_t i = full.size(); i-- > 1;) {
    if (full[i] == '>') ++inside;
    if (full[i] == '<') --inside;
    if (inside == 0 && full.compare(i - 1, 2, "::") == 0) return full.substr(i + 1);
  }
  return full;
}

}  // namespace tern
