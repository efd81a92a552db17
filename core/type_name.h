// Names of types for readers.
#pragma once

#include <string>

namespace tern {

/// "Linear" for the mangled name of tern::nn::Linear, as std::type_info::name() gives it: demangled, without
/// namespaces in front.
std::string short_type_name(const char* mangled);

}  // namespace tern
