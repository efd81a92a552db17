// What a training program's main has in common with others: errors, output that arrives, numbers on the
// command line.
//
//   int main(int argc, char** argv) {
//     return train::run_program([&] { …; return 0; });
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace tern::train {

/// Calls `body` and returns its status. An exception becomes "error: …" on standard error and status 1, and
/// so does a standard output that cannot be written in the end (a full disk).
int run_program(const std::function<int()>& body);

/// Writes `line` and a line break to standard output at once. Throws IoError when that fails.
void print_line(const std::string& line);

/// Looks at the text of an option: empty when it is good, else what is wrong (CLI11's Option::check() takes
/// it).
using OptionCheck = std::function<std::string(const std::string&)>;

/// For whole numbers from `least` to `most`, written with digits alone.
OptionCheck whole_number(uint64_t least = 0, uint64_t most = std::numeric_limits<uint64_t>::max());

/// For finite numbers of at least `least`.
OptionCheck number(double least = 0);

}  // namespace tern::train
