// What every test reads, compiled once for each program. Sources include what they need all the same.
#include <tern/core/tensor.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
