// Which instruction set's kernels run: the best that the machine has, or a lesser one that TERN_ISA asks for.
// For the sources that are compiled once; those that are compiled per instruction set must not include it.
#pragma once

#include <tern/core/error.h>

#include <cstdlib>
#include <string_view>

namespace tern::simd {

enum class Isa { baseline, avx2, avx512 };

/// The best instruction set of this machine.
inline Isa machine_isa() {
#if defined(__x86_64__)
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::avx512;
  if (v3) return Isa::avx2;
#endif
  return Isa::baseline;
}

/// What the environment variable TERN_ISA (baseline, avx2 or avx512) asks for, else machine_isa(). Throws
/// Error for another word and for an instruction set that the machine lacks.
inline Isa chosen_isa() {
  const char* const wanted = std::getenv("TERN_ISA");
  if (wanted == nullptr) return machine_isa();
  const std::string_view word = wanted;
  check(word == "baseline" || word == "avx2" || word == "avx512",
        "TERN_ISA must be baseline, avx2 or avx512, got ", word);
  const Isa isa = word == "baseline" ? Isa::baseline : word == "avx2" ? Isa::avx2 : Isa::avx512;
  check(isa <= machine_isa(), "TERN_ISA: this machine does not have ", word);
  return isa;
}

/// The table for chosen_isa().
template <class Table>
const Table& select(const Table& baseline, const Table& avx2, const Table& avx512) {
  const Isa isa = chosen_isa();
  return isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : baseline;
}

}  // namespace tern::simd
