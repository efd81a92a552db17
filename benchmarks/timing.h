// How the programs that operations.py calls take times and report them; nothing of Tern, so that programs of
// other libraries measure alike.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace benchmarks {

/// What is timed; keeps the tensors it needs.
using Run = std::function<void()>;

inline double seconds_of(const Run& run, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median over `repeats` of the mean of as many calls as take some milliseconds.
inline double median_microseconds(const Run& run, int repeats) {
  run();
  int calls = 1;
  while (seconds_of(run, calls) < 0.005 && calls < 1 << 20) calls *= 2;
  std::vector<double> times;
  times.reserve(static_cast<size_t>(repeats));
  for (int i = 0; i < repeats; ++i) times.push_back(seconds_of(run, calls) / calls * 1e6);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Measures and prints a line of JSON: {"case":NAME,"microseconds":X}.
inline void report(const std::string& name, const Run& run, int repeats) {
  fmt::print("{{\"case\":\"{}\",\"microseconds\":{:.3f}}}\n", name, median_microseconds(run, repeats));
}

}  // namespace benchmarks
