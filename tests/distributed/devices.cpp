// This program's tests have eight CPU devices. The environment is read when the first device is asked for.
#include <cstdlib>

namespace {
[[maybe_unused]] const int set = ::setenv("TERN_CPU_DEVICES", "8", 1);
}
