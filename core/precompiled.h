// What nearly every source of the library reads, compiled once. Sources include what they need all the same.
#include <tern/core/tensor.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
