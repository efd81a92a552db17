// Making communicators, dividing them, and their end.
#include <tern/tests/simgpu/nccl/communicator.h>
#include <tern/tests/simgpu/nccl/group.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace simgpu::nccl {
namespace {

/// Which GPU the current device is, in the numbers of the machine.
std::string visible_name(int device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return std::to_string(device);
  std::istringstream names(visible);
  std::string name;
  for (int i = 0; i <= device && std::getline(names, name, ','); ++i) {
  }
  return name;
}

/// Writes down who this rank is. An error: the rank is taken, or its memory is gone.
ncclResult_t join(ncclComm_t comm, const char* call) {
  Communicator& state = *comm->state;
  auto segment = Segment::open(state.id);
  if (!segment) return state.message = "the process that made the unique id is gone", ncclRemoteError;
  Rank& own = segment->rank(state.rank);
  if (own.joined) return misuse(comm, call, "rank " + std::to_string(state.rank) + " is there already");
  own.process = getpid();
  own.device = state.device;
  own.ranks = state.ranks;
  const std::string name = visible_name(state.device);
  std::strncpy(own.visible, name.c_str(), sizeof own.visible - 1);
  own.joined = 1;
  state.segment = std::move(segment);
  return ncclSuccess;
}

/// All ranks there: do they fit together?
ncclResult_t compare(ncclComm_t comm, const char* call) {
  Communicator& state = *comm->state;
  for (int other = 0; other < state.ranks; ++other) {
    const Rank& rank = state.segment->rank(other);
    if (rank.ranks != state.ranks) {
      return misuse(comm, call,
                    "rank " + std::to_string(other) + " counts " + std::to_string(rank.ranks) +
                        " ranks, rank " + std::to_string(state.rank) + " " + std::to_string(state.ranks));
    }
    if (other < state.rank && std::strcmp(rank.visible, state.own().visible) == 0) {
      return misuse(comm, call,
                    "ranks " + std::to_string(other) + " and " + std::to_string(state.rank) +
                        " use the same device " + rank.visible);
    }
  }
  return ncclSuccess;
}

Step joining(ncclComm_t comm, const char* call) {
  return [comm, call, state = comm->state] {
    if (!state->segment) {
      const ncclResult_t result = join(comm, call);
      if (result != ncclSuccess) return state->error = result, true;
    }
    for (int other = 0; other < state->ranks; ++other) {
      if (!state->segment->rank(other).joined) return false;
    }
    state->error = compare(comm, call);
    return true;
  };
}

ncclComm_t make(const ncclUniqueId& id, int ranks, int rank, int device, bool blocking) {
  ncclComm_t comm = handles().create();
  comm->state = std::make_shared<Communicator>();
  Communicator& state = *comm->state;
  state.id = id;
  state.ranks = ranks;
  state.rank = rank;
  state.device = device;
  state.blocking = blocking;
  return comm;
}

ncclResult_t init(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* config,
                  const char* call) {
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks || ranks > most_ranks) return ncclInvalidArgument;
  if (config && (config->magic != 0xcafebeef || config->size != sizeof *config)) return ncclInvalidArgument;
  if (injected("nccl_init")) return ncclSystemError;
  if (cudaFree(nullptr) != cudaSuccess) return ncclUnhandledCudaError;
  const bool blocking = !config || config->blocking != 0;
  *comm = make(id, ranks, rank, current_device(), blocking);
  const ncclResult_t result = take(*comm, joining(*comm, call));
  if (result != ncclSuccess && result != ncclInProgress) {
    handles().destroy(*comm, call);
    *comm = nullptr;
  }
  return result;
}

/// The ranks of a color in the order of key, then of rank; the first makes the new id.
std::vector<int> members(Communicator& state, int color, size_t which) {
  std::vector<int> found;
  for (int rank = 0; rank < state.ranks; ++rank) {
    if (state.segment->rank(rank).divisions[which].color == color) found.push_back(rank);
  }
  std::stable_sort(found.begin(), found.end(), [&](int a, int b) {
    return state.segment->rank(a).divisions[which].key < state.segment->rank(b).divisions[which].key;
  });
  return found;
}

bool all_ranks(Communicator& state, std::atomic<uint64_t> Rank::*counter, uint64_t least) {
  for (int rank = 0; rank < state.ranks; ++rank) {
    if (state.segment->rank(rank).*counter < least) return false;
  }
  return true;
}

/// What a rank goes through in ncclCommSplit, step by step.
struct Dividing {
  std::shared_ptr<Communicator> parent;
  ncclComm_t child;  // null without a color
  int32_t color, key;
  uint64_t number;
  bool told = false, led = false;
  Step join_child = nullptr;

  bool operator()() {
    const size_t which = number % 2;
    Rank& own = parent->own();
    if (!told) {
      if (number > 2 && !all_ranks(*parent, &Rank::division_read, number - 2)) return false;
      own.divisions[which] = {color, key, {}};
      own.divided = number;
      told = true;
    }
    if (!all_ranks(*parent, &Rank::divided, number)) return false;
    if (!child) return own.division_read = number, true;
    if (!join_child && !find_child(which)) return false;
    return join_child();
  }

  bool find_child(size_t which) {
    const std::vector<int> ranks = members(*parent, color, which);
    const int first = ranks.front();
    Rank& own = parent->own();
    if (first == parent->rank && !led) {
      child->state->error = make_id(own.divisions[which].id);
      own.led = number;
      led = true;
    }
    if (parent->segment->rank(first).led < number) return false;
    Communicator& state = *child->state;
    state.id = parent->segment->rank(first).divisions[which].id;
    state.ranks = static_cast<int>(ranks.size());
    state.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), parent->rank) - ranks.begin());
    own.division_read = number;
    join_child = joining(child, "ncclCommSplit");
    return true;
  }
};

/// Nothing queued is left, or the device has failed; asking lets queued work have its turn.
Step quiet(ncclComm_t comm) {
  return [state = comm->state] {
    return state->last.empty() || cudaEventQuery(state->last[0].second) != cudaErrorNotReady;
  };
}

ncclResult_t end(ncclComm_t comm, const char* call) {
  if (comm->state->is_ready()) forget(comm->state->id);
  comm->state->ended = true;
  for (const auto& [stream, event] : std::exchange(comm->state->last, {})) cudaEventDestroy(event);
  return handles().destroy(comm, call) ? ncclSuccess : ncclInvalidArgument;
}

}  // namespace
}  // namespace simgpu::nccl

using namespace simgpu::nccl;

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  return simgpu::injected("nccl_id") ? ncclSystemError : make_id(*id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return init(comm, ranks, id, rank, config, "ncclCommInitRankConfig");
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return init(comm, ranks, id, rank, nullptr, "ncclCommInitRank");
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  ncclUniqueId id;
  int before = 0;
  if (!comms || count < 1) return ncclInvalidArgument;
  ncclResult_t result = make_id(id);
  cudaGetDevice(&before);
  ncclGroupStart();
  for (int i = 0; i < count && result == ncclSuccess; ++i) {
    cudaSetDevice(devices ? devices[i] : i);
    result = ncclCommInitRank(&comms[i], count, id, i);
  }
  cudaSetDevice(before);
  const ncclResult_t ended = ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
  const char* call = "ncclCommSplit";
  if (check(comm, call) != ncclSuccess || !child || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return ncclInvalidArgument;
  if (!comm->state->is_ready()) return misuse(comm, call, "the communicator is not ready yet");
  const bool blocking = config ? config->blocking != 0 : comm->state->blocking;
  *child = color == NCCL_SPLIT_NOCOLOR ? nullptr : make({}, 0, 0, comm->state->device, blocking);
  const Step step = Dividing{comm->state, *child, color, key, ++comm->state->divisions};
  return take(*child ? *child : comm, step);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const char* call = "ncclCommFinalize";
  if (check(comm, call) != ncclSuccess) return ncclInvalidArgument;
  if (comm->state->finalized) return misuse(comm, call, "the communicator is finalized already");
  comm->state->finalized = true;
  return take(comm, quiet(comm));
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const char* call = "ncclCommDestroy";
  if (!comm) return ncclSuccess;
  if (check(comm, call) != ncclSuccess) return ncclInvalidArgument;
  while (!comm->state->aborted && !quiet(comm)()) usleep(50);
  return end(comm, call);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const char* call = "ncclCommAbort";
  if (!comm) return ncclSuccess;
  if (check(comm, call) != ncclSuccess) return ncclInvalidArgument;
  comm->state->aborted = true;
  return end(comm, call);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (check(comm, "ncclCommGetAsyncError") != ncclSuccess || !error) return ncclInvalidArgument;
  if (comm->state->is_ready()) look_after_others(*comm->state);
  while (!comm->pending.empty() && comm->pending.front()()) comm->pending.erase(comm->pending.begin());
  *error = comm->state->error;
  const bool waits = !comm->pending.empty() || std::exchange(comm->answers_in_progress, 0) > 0;
  if (*error == ncclSuccess && waits) *error = ncclInProgress;
  return ncclSuccess;
}
