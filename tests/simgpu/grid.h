// A launched kernel: its grid runs block by block, in order, on the thread that synchronises.
#pragma once

#include <tern/tests/simgpu/races.h>
#include <tern/tests/simgpu/warp.h>

#include <array>
#include <memory>

namespace simgpu {

/// The last accesses to four bytes of shared memory, to find what no barrier orders.
struct SharedWord {
  uint32_t write_epoch = 0, read_epoch = 0;
  uint16_t write_warp = 0, read_warp = 0;
  uint8_t write_bytes = 0, read_bytes = 0;         // a bit each
  bool write_strong = false, read_strong = false;  // atomic or volatile
};

/// What the warps of the running block share.
struct Block {
  const Kernel* kernel = nullptr;
  Task* task = nullptr;
  int device = 0;
  const uint8_t* parameters = nullptr;
  uint64_t shared_base = 0, local_base = 0;  // device addresses of the windows
  uint32_t shared_bytes = 0, threads = 0;
  std::vector<SharedWord> shared_words;
  uint32_t epoch = 1;  // counts barriers
  std::array<uint32_t, 3> index{}, size{}, grid{};
  std::array<uint32_t, 3> index_registers{};  // where %ctaid lies
  std::vector<CachedRange> ranges;
  Footprint* footprint = nullptr;
  uint32_t any = 0, all = 0, count = 0;  // of barrier.red
  uint64_t clock = 0;
  std::vector<Warp> warps;
  bool reported_race = false;
};

struct Launch {
  const void* function = nullptr;  // what the program calls the kernel
  std::shared_ptr<const Kernel> kernel;
  std::array<uint32_t, 3> grid{}, block{};
  std::vector<uint8_t> parameters;
  std::vector<void*> arguments;  // where in `parameters` each is
  uint32_t dynamic_shared = 0;
  int device = 0;
};

/// Runs the whole grid; throws Fault.
void run_grid(const Launch& launch, Task& task);

}  // namespace simgpu
