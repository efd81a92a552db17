#include <tern/tests/simgpu/nccl/communicator.h>

namespace simgpu::nccl {

Handles<ncclComm>& handles() {
  static auto* all = new Handles<ncclComm>("NCCL communicator");
  return *all;
}

ncclResult_t check(ncclComm_t comm, const char* call) {
  return handles().checked(comm, call) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t misuse(ncclComm_t comm, const char* call, const std::string& what, ncclResult_t result) {
  if (comm) comm->state->message = std::string(call) + ": " + what;
  report_misuse(call, what);
  return result;
}

ncclResult_t answer(ncclComm_t comm) {
  if (comm->state->blocking) return ncclSuccess;
  comm->answers_in_progress = 1;
  return ncclInProgress;
}

void look_after_others(Communicator& comm) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  if (now - comm.last_look < 100) return;
  comm.last_look = now;
  for (int other = 0; other < comm.ranks; ++other) {
    Rank& rank = comm.segment->rank(other);
    if (rank.joined && !is_alive(rank.process)) comm.error = ncclRemoteError;
  }
}

}  // namespace simgpu::nccl
