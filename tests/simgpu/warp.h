// A warp that runs decoded PTX. Each operation is a function that loops over the 32 lanes; registers are
// arrays of 32 values in the warp's register file, predicates are masks. Lanes that have branched elsewhere
// wait as groups; the group that is furthest behind in the code runs, and groups that meet become one.
#pragma once

#include <driver_types.h>
#include <tern/tests/simgpu/ptx_text.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace simgpu {

struct Block;
struct Operation;
struct Footprint;
struct Warp;

using Handler = void (*)(Warp&, const Operation&);

enum class Step : uint8_t { plain, guarded, branch, table, exit, barrier, reduction };

constexpr uint32_t all_lanes = ~uint32_t{0};

/// A decoded instruction. Registers are given by their offsets in the register file; 0 stands for none.
struct Operation {
  Handler run = nullptr;
  Handler inner = nullptr;  // what a handler that sets the rounding mode wraps
  Step step = Step::plain;
  bool negated = false;  // the guard, or the predicate operand
  uint8_t count = 0;     // of vector elements
  uint8_t flag = 0;
  uint32_t guard = 0;
  uint32_t d = 0, a = 0, b = 0, c = 0, e = 0;
  int64_t immediate = 0;  // an address offset, or where a branch goes
  uint32_t v[4] = {};
  uint32_t extra = 0;  // where further offsets begin in Kernel::extras
  uint32_t cache = 0;  // which cached range of memory it uses
};

/// Memory that an operation has used before: addresses, and the distances to its bytes and its shadow.
struct CachedRange {
  uint64_t begin = 1, end = 0, bytes = 0, shadow = 0;  // shadow 0: what is read need not be initialised
};

struct Group {
  uint32_t at, mask;
};

/// A cp.async that has been issued.
struct PendingCopy {
  uint64_t to, from;
  uint32_t bytes, from_bytes;
};

struct Warp {
  uint8_t* registers = nullptr;
  Block* block = nullptr;
  uint32_t mask = 0;          // the lanes that run now
  uint32_t at = 0;            // the operation that they are at
  uint32_t next = all_lanes;  // where the nearest waiting group is
  uint32_t live = 0;          // lanes that have not exited
  uint32_t carry = 0;         // the carry flag of each lane
  uint32_t index = 0;         // in the block
  bool at_barrier = false, done = false;
  int64_t barrier = 0;           // which
  uint32_t barrier_threads = 0;  // how many it waits for; 0: all
  std::vector<Group> waiting;
  std::vector<PendingCopy> uncommitted;
  std::vector<std::vector<PendingCopy>> copies;
  uint64_t operations = 0, lane_operations = 0;

  template <class T>
  T* lanes(uint32_t offset) {
    return reinterpret_cast<T*>(registers + offset);
  }
  uint32_t& predicate(uint32_t offset) { return *lanes<uint32_t>(offset); }
  uint32_t first_lane() const { return static_cast<uint32_t>(std::countr_zero(mask)); }
};

/// Calls the function with each lane that runs.
template <class Function>
inline void each_lane(const Warp& warp, Function function) {
  uint32_t mask = warp.mask;
  if (mask == all_lanes) {
    for (uint32_t lane = 0; lane < 32; ++lane) function(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) function(static_cast<uint32_t>(std::countr_zero(mask)));
}

/// Writes a predicate in the lanes that run.
inline void set_predicate(Warp& warp, uint32_t offset, uint32_t value) {
  uint32_t& target = warp.predicate(offset);
  target = (target & ~warp.mask) | (value & warp.mask);
}

struct KernelParameter {
  uint32_t offset, bytes;
};

/// Where an operation stands.
struct SourceLine {
  std::string text;
  int line, source_file, source_line;
};

/// A kernel, decoded.
struct Kernel {
  std::string name, title;  // mangled, and as it is written
  std::vector<Operation> code;
  std::vector<SourceLine> lines;  // of each operation
  std::vector<uint32_t> extras;
  std::vector<std::vector<uint32_t>> tables;                         // of brx.idx
  std::vector<std::pair<uint32_t, std::vector<uint8_t>>> constants;  // by offset in the register file
  std::vector<KernelParameter> parameters;
  std::vector<std::string> formats;
  uint32_t register_bytes = 64, parameter_bytes = 0, shared_bytes = 0, local_bytes = 0, caches = 1;
  uint32_t most_threads = 1024;
  std::map<std::string, uint32_t> special;  // special registers that it uses, by name
  const PtxModule* module = nullptr;

  uint32_t special_register(const std::string& register_name) const {
    const auto found = special.find(register_name);
    return found == special.end() ? 0 : found->second;
  }
};

/// Runs until the warp is done, reaches a barrier or has used up `steps` operations.
void run_warp(Warp& warp, uint64_t steps);

/// Throws a Fault with `what` and all that tells where it happened. Lane 32: the first that runs.
[[noreturn]] void fault(const Warp& warp, const Operation& operation, cudaError_t error,
                        const std::string& what, uint32_t lane = 32);

/// The same, as text.
std::string where(const Warp& warp, const Operation& operation, uint32_t lane);

}  // namespace simgpu
