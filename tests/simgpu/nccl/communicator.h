// A rank's communicator: what it knows, and the steps on the host that wait for other ranks.
#pragma once

#include <tern/tests/simgpu/handles.h>
#include <tern/tests/simgpu/nccl/segment.h>

#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace simgpu::nccl {

struct PreMultiplied {
  ncclDataType_t type;
  double value = 1;
  const void* on_device = nullptr;
};

/// Shared with the queued work, which may outlive the handle.
struct Communicator {
  ncclUniqueId id;
  std::shared_ptr<Segment> segment;
  int rank = 0, ranks = 0, device = 0;
  bool blocking = true;
  bool finalized = false;
  std::atomic<bool> aborted = false;
  std::atomic<ncclResult_t> error = ncclSuccess;
  std::atomic<int64_t> outstanding = 0;  ///< operations queued and not done
  std::atomic<bool> captured = false;    ///< a graph has operations, and may run them at any time
  std::atomic<bool> ended = false;       ///< the handle is destroyed
  std::atomic<int64_t> last_look = 0;    ///< when the other processes were last looked after, in milliseconds
  uint64_t issued = 0;                   ///< collectives that the host has called
  uint64_t divisions = 0;
  std::vector<std::pair<cudaStream_t, cudaEvent_t>>
      last;  ///< the stream used last, and its end: one entry or none
  std::map<int, PreMultiplied> operators;
  int next_operator = ncclNumOps;
  std::string message;

  Rank& own() { return segment->rank(rank); }
  bool is_ready() const { return static_cast<bool>(segment); }
};

/// A step on the host that needs other ranks: asked until it is done.
using Step = std::function<bool()>;

/// Steps of the calling thread's open group, or none.
bool in_group();

/// Does the step now and waits for it, or at the end of the group, or leaves it to ncclCommGetAsyncError.
ncclResult_t take(ncclComm_t comm, Step step);

/// Looks at most ten times a second whether the processes of the other ranks live; if not, that is the error.
void look_after_others(Communicator& comm);

}  // namespace simgpu::nccl

struct ncclComm {
  std::shared_ptr<simgpu::nccl::Communicator> state;
  std::vector<simgpu::nccl::Step> pending;  ///< of a communicator that does not block
  int answers_in_progress = 0;
};

namespace simgpu::nccl {

Handles<ncclComm>& handles();

/// The communicator if it may be used; else an error, after a report.
ncclResult_t check(ncclComm_t comm, const char* call);

/// Keeps the text for ncclGetLastError, reports it, and is an answer.
ncclResult_t misuse(ncclComm_t comm, const char* call, const std::string& what,
                    ncclResult_t result = ncclInvalidUsage);

/// The first answer of a call on a communicator that does not block is "in progress".
ncclResult_t answer(ncclComm_t comm);

}  // namespace simgpu::nccl
