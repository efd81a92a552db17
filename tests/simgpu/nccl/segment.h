// The memory that the ranks of a communicator share, in one process or in several. It has no name: the unique
// id says which process holds it open under which number, and it goes with the last process that has it,
// however that ends.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace simgpu::nccl {

constexpr int most_ranks = 32;
constexpr size_t region_bytes = size_t{1}
                                << 28;  ///< the longest message; pages that nobody wrote take no memory

/// What a rank says that it calls. Ranks whose calls differ are a mistake of the program.
struct Call {
  int32_t kind = 0, type = 0, op = 0, root = 0;
  uint64_t count = 0;
  double scalar = 1;  ///< of a product before the sum, the rank's own

  bool matches(const Call& other) const {
    return kind == other.kind && type == other.type && op == other.op && root == other.root &&
           count == other.count;
  }
};

/// A message from one rank to another: number `sent` lies in its region until `taken` is as large.
struct Channel {
  std::atomic<uint64_t> sent, taken;
  Call call;
};

/// A rank's part in dividing the communicator; two of them, so that the next one does not disturb slow
/// readers.
struct Division {
  int32_t color, key;
  ncclUniqueId id;
};

struct Rank {
  std::atomic<uint64_t> joined;  ///< 1 when the fields before the atomics below are filled in
  int64_t process;
  int32_t device, ranks;
  char visible[32];  ///< which GPU it is, whatever the process calls it
  std::atomic<uint64_t> published,
      finished;  ///< collectives whose bytes lie here, that the rank is through with
  Call calls[2];
  std::atomic<uint64_t> divided, led, division_read;
  Division divisions[2];
};

struct Shared {
  std::atomic<uint64_t> magic;
  Rank ranks[most_ranks];
  Channel channels[most_ranks][most_ranks];
};

/// This process's view of the memory.
class Segment {
 public:
  /// Null where the process that made the id is gone, or the id is none.
  static std::shared_ptr<Segment> open(const ncclUniqueId& id);
  ~Segment();
  Segment(const Segment&) = delete;

  Shared& shared() { return *static_cast<Shared*>(memory_); }
  Rank& rank(int number) { return shared().ranks[number]; }
  Channel& channel(int from, int to) { return shared().channels[from][to]; }
  /// Where collective `number` of the rank has its bytes.
  std::byte* collective(int rank, uint64_t number) { return region(rank * 2 + static_cast<int>(number % 2)); }
  std::byte* message(int from, int to) { return region(2 * most_ranks + from * most_ranks + to); }

 private:
  explicit Segment(void* memory) : memory_(memory) {}
  std::byte* region(int number) {
    return static_cast<std::byte*>(memory_) + (static_cast<size_t>(number) + 1) * region_bytes;
  }

  void* memory_;
};

/// Makes the memory and an id for it; this process holds it until `forget`.
ncclResult_t make_id(ncclUniqueId& id);
void forget(const ncclUniqueId& id);

/// Whether the process is there and has not ended.
bool is_alive(int64_t process);

}  // namespace simgpu::nccl
