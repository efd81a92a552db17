// The memory that the ranks of one host share: signals to wait for, a slot per rank for pieces of tensors,
// and a channel for messages from each rank to each other one.
//
// It is an anonymous file (memfd_create) that the other ranks open through /proc, so that nothing is left
// behind, however ranks end, and the size of /dev/shm does not matter. Pages that are never touched take no
// memory.
#pragma once

#include <tern/distributed/wire_call.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace tern::distributed {

/// A count that one rank raises and others wait for.
struct alignas(64) Signal {
  std::atomic<uint32_t> count;
  std::atomic<uint32_t> sleepers;

  /// Whether the count has come to `target`; counts wrap around.
  bool reached(uint32_t target) const {
    return static_cast<int32_t>(count.load(std::memory_order_acquire) - target) >= 0;
  }
  void raise_to(uint32_t value);
  /// Sleeps until the count reaches `target`, at most for `time`, or less.
  void sleep(uint32_t target, Duration time);
};

/// What all see of one rank.
struct Member {
  Signal posted;  ///< the steps that it has written its slot for
  std::atomic<int32_t> process;
  std::atomic<uint64_t> process_start;  ///< tells it from a later process of the same number
  std::atomic<bool> has_left;
  WireCall calls[2];  ///< what it called, by the parity of the call's first step
};

/// A ring of blocks from one rank to another.
struct Channel {
  static constexpr uint32_t blocks = 4;
  static constexpr size_t block_bytes = 32 * 1024;
  struct Block {
    WireCall call;
    char bytes[block_bytes];
  };
  Signal written, read;
  Block ring[blocks];
};

class Segment {
 public:
  /// Bytes of a slot.
  static constexpr size_t slot_bytes = 256 * 1024;

  /// A new one. DistributedError when the system refuses.
  static std::unique_ptr<Segment> create(int ranks);
  /// The one that address() of another rank speaks of; null when it can't be opened from here.
  static std::unique_ptr<Segment> open(const std::string& address, int ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// What open() needs; valid until close_file().
  std::string address() const;
  /// After all ranks have opened it.
  void close_file();
  /// Says that this process is `rank`: others then notice when it dies. Each rank calls it first.
  void enter(int rank) const;

  Member& member(int rank) const;
  Channel& channel(int from, int to) const;
  /// Where `rank` writes a piece in steps of this parity.
  char* slot(int rank, uint32_t step) const;
  /// Where `rank` writes its part of the piece's reduction.
  char* result(int rank, uint32_t step) const;

  /// The first failure of any rank, if there was one.
  std::optional<std::string> failure() const;
  /// Makes `message` the first failure unless there is one. Returns the first.
  std::string fail(const std::string& message) const;

 private:
  struct Header;
  Segment(int file, void* memory, int ranks);
  static std::unique_ptr<Segment> map(int file, int ranks);
  char* at(size_t offset) const { return static_cast<char*>(memory_) + offset; }
  Header& header() const;

  int file_;
  void* memory_;
  size_t ranks_;
};

/// When the process of this number started, in the system's own units; 0 when it has ended.
uint64_t process_start(int32_t process);

}  // namespace tern::distributed
