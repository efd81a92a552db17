// Ranks for the tests of the simulated NCCL: all in this process, or each in one of its own.
#pragma once

#include <nccl.h>
#include <sys/mman.h>
#include <tern/tests/simgpu/testing.h>

#include <atomic>
#include <memory>

namespace simgpu {

/// Ranks on the devices of this process, driven by one thread.
struct Ranks {
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;

  explicit Ranks(int count) : comms(static_cast<size_t>(count)), streams(static_cast<size_t>(count)) {
    MUST(ncclCommInitAll(comms.data(), count, nullptr));
    for (int rank = 0; rank < count; ++rank) {
      MUST(cudaSetDevice(rank));
      MUST(cudaStreamCreate(&streams[static_cast<size_t>(rank)]));
    }
    MUST(cudaSetDevice(0));
  }
  Ranks(const Ranks&) = delete;
  ~Ranks() {
    for (ncclComm_t comm : comms) MUST(ncclCommDestroy(comm));
    for (cudaStream_t stream : streams) MUST(cudaStreamDestroy(stream));
  }

  size_t size() const { return comms.size(); }

  template <class T>
  std::vector<OnDevice<T>> buffers(size_t count, bool filled) const {
    std::vector<OnDevice<T>> all;
    for (size_t rank = 0; rank < size(); ++rank) {
      MUST(cudaSetDevice(static_cast<int>(rank)));
      if (filled) {
        all.emplace_back(small_numbers<T>(count, static_cast<unsigned>(rank) + 1));
      } else {
        all.emplace_back(count);
      }
    }
    MUST(cudaSetDevice(0));
    return all;
  }

  /// `call(rank, comm, stream)` for each rank in a group; then waits for all of them.
  template <class Call>
  void group(Call call) const {
    MUST(ncclGroupStart());
    for (size_t rank = 0; rank < size(); ++rank) MUST(call(rank, comms[rank], streams[rank]));
    MUST(ncclGroupEnd());
    for (cudaStream_t stream : streams) MUST(cudaStreamSynchronize(stream));
  }
};

/// What processes of a test tell each other.
struct Board {
  ncclUniqueId id;
  std::atomic<bool> has_id;
  std::atomic<int> flags[8];
};

inline void wait_for(const std::function<bool()>& condition) {
  while (!condition()) usleep(500);
}

/// Runs `body(rank, id, board)` in so many processes, rank r on device r. Gives back what they printed to
/// stderr. A rank that ends itself with a signal is none that reported.
inline std::string in_processes(int count,
                                const std::function<void(int, const ncclUniqueId&, Board&)>& body) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Board& board = *static_cast<Board*>(memory);
  const std::string text = reports_of([&] {
    std::vector<pid_t> children;
    for (int rank = 0; rank < count; ++rank) {
      const pid_t child = fork();
      if (child != 0) {
        children.push_back(child);
        continue;
      }
      alarm(60);
      if (rank == 0) {
        MUST(ncclGetUniqueId(&board.id));
        board.has_id = true;
      }
      wait_for([&] { return board.has_id.load(); });
      MUST(cudaSetDevice(rank));
      body(rank, board.id, board);
      std::exit(0);
    }
    bool failed = false;
    for (pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0) continue;
      fprintf(stderr, "a rank ended with status %#x\n", static_cast<unsigned>(status));
      failed = true;
    }
    _exit(failed ? 1 : 0);
  });
  munmap(memory, sizeof(Board));
  return text;
}

}  // namespace simgpu
