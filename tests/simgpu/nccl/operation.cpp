#include <tern/tests/simgpu/nccl/operation.h>

namespace simgpu::nccl {
namespace {

/// The communicator's device is current while this lives: its default stream is meant.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(const Communicator& comm) {
    cudaGetDevice(&before_);
    cudaSetDevice(comm.device);
  }
  ~OnDeviceOf() { cudaSetDevice(before_); }
  OnDeviceOf(const OnDeviceOf&) = delete;

 private:
  int before_ = 0;
};

/// Operations of a communicator run in the order of the calls, also on several streams.
bool follow_last(Communicator& comm, cudaStream_t stream) {
  if (!comm.last.empty() && comm.last[0].first != stream) {
    return cudaStreamWaitEvent(stream, comm.last[0].second, 0) == cudaSuccess;
  }
  return true;
}

bool note_last(Communicator& comm, cudaStream_t stream) {
  if (comm.last.empty()) {
    cudaEvent_t event = nullptr;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return false;
    comm.last.emplace_back(stream, event);
  }
  comm.last[0].first = stream;
  return cudaEventRecord(comm.last[0].second, stream) == cudaSuccess;
}

bool has_several_processes(Communicator& comm) {
  for (int other = 0; other < comm.ranks; ++other) {
    if (comm.segment->rank(other).process != comm.own().process) return true;
  }
  return false;
}

cudaError_t queue_stage(const std::shared_ptr<Communicator>& comm, const char* call, cudaStream_t stream,
                        Stage stage) {
  const auto ready = [comm, wanted = std::move(stage.ready)] {
    if (comm->aborted || wanted()) return true;
    look_after_others(*comm);
    return false;
  };
  const auto work = [comm, wanted = std::move(stage.work)] {
    if (!comm->aborted) wanted();
  };
  return enqueue_waiting(stream, call, std::move(stage.accesses), ready, work);
}

}  // namespace

ncclResult_t check_operation(ncclComm_t comm, const char* call, cudaStream_t stream) {
  if (check(comm, call) != ncclSuccess) return ncclInvalidArgument;
  const Communicator& state = *comm->state;
  if (!state.is_ready() || !comm->pending.empty())
    return misuse(comm, call, "the communicator is not ready yet");
  if (state.finalized) return misuse(comm, call, "the communicator is finalized");
  const int device = stream ? device_of_stream(stream) : state.device;
  if (device != state.device) {
    return misuse(comm, call,
                  "the communicator belongs to device " + std::to_string(state.device) +
                      ", the stream to device " + std::to_string(device));
  }
  if (state.error != ncclSuccess) return state.error;
  return injected("nccl") ? ncclInternalError : ncclSuccess;
}

ncclResult_t queue(ncclComm_t comm, const char* call, cudaStream_t stream, std::vector<Stage> stages) {
  const std::shared_ptr<Communicator> state = comm->state;
  const OnDeviceOf device(*state);
  const bool captured = is_captured(stream);
  if (!captured && !follow_last(*state, stream)) return ncclUnhandledCudaError;
  if (captured) state->captured = true;
  if (!captured) ++state->outstanding;
  for (Stage& stage : stages) {
    if (queue_stage(state, call, stream, std::move(stage)) != cudaSuccess) return ncclUnhandledCudaError;
  }
  if (!captured) {
    const cudaError_t error = enqueue(stream, call, {}, [state] { --state->outstanding; });
    if (error != cudaSuccess || !note_last(*state, stream)) return ncclUnhandledCudaError;
  }
  if (has_several_processes(*state)) run_in_background(state);
  return answer(comm);
}

}  // namespace simgpu::nccl
