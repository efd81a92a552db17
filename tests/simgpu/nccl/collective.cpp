#include <tern/tests/simgpu/nccl/collective.h>
#include <tern/tests/simgpu/nccl/group.h>
#include <tern/tests/simgpu/nccl/reduce.h>

#include <cstring>
#include <thread>

namespace simgpu::nccl {
namespace {

/// One collective of one rank; a graph may run it again.
struct Run {
  std::shared_ptr<Communicator> comm;
  Collective asked;
  std::optional<PreMultiplied> factor;
  uint64_t number = 0;  // set when it gives its bytes

  size_t bytes() const { return asked.count * size_of(asked.type); }
  bool is_root() const { return comm->rank == asked.root; }
  size_t given() const;
  size_t taken() const;
};

size_t blocks(const Run& run, bool all) { return all ? static_cast<size_t>(run.comm->ranks) : 1; }

/// Bytes that the rank puts in.
size_t Run::given() const {
  switch (asked.kind) {
    case Kind::broadcast:
      return is_root() ? bytes() : 0;
    case Kind::scatter:
      return is_root() ? bytes() * blocks(*this, true) : 0;
    default:
      return bytes() * blocks(*this, asked.kind == Kind::reduce_scatter || asked.kind == Kind::all_to_all);
  }
}

/// Bytes that the rank gets.
size_t Run::taken() const {
  if ((asked.kind == Kind::reduce || asked.kind == Kind::gather) && !is_root()) return 0;
  const bool all =
      asked.kind == Kind::all_gather || asked.kind == Kind::all_to_all || asked.kind == Kind::gather;
  return bytes() * blocks(*this, all);
}

const char* name_of(int32_t kind) {
  constexpr const char* names[] = {"ncclAllReduce",     "ncclReduce",   "ncclBroadcast", "ncclAllGather",
                                   "ncclReduceScatter", "ncclAlltoAll", "ncclGather",    "ncclScatter"};
  return names[kind];
}

std::string text_of(const Call& call) {
  return std::string(name_of(call.kind)) + "(count " + std::to_string(call.count) + ", type " +
         std::to_string(call.type) + ", op " + std::to_string(call.op) + ", root " +
         std::to_string(call.root) + ")";
}

/// Every rank said what it calls. Who differs from the first says so, and nothing is exchanged.
bool agree(Run& run) {
  Communicator& comm = *run.comm;
  const Call& own = comm.own().calls[run.number % 2];
  for (int other = 0; other < comm.ranks; ++other) {
    const Call& call = comm.segment->rank(other).calls[run.number % 2];
    if (call.matches(own)) continue;
    report_misuse(run.asked.call, "ranks differ: rank " + std::to_string(comm.rank) + " calls " +
                                      text_of(own) + ", rank " + std::to_string(other) + " " + text_of(call));
    comm.error = ncclInvalidUsage;
    return false;
  }
  return true;
}

void give(Run& run) {
  Communicator& comm = *run.comm;
  Rank& own = comm.own();
  run.number = own.published + 1;
  Call& call = own.calls[run.number % 2];
  const bool premultiplied = run.factor.has_value();
  call = {static_cast<int32_t>(run.asked.kind), run.asked.type,
          premultiplied ? int{ncclNumOps} : run.asked.op, run.asked.root, run.asked.count};
  if (premultiplied) {
    call.scalar =
        run.factor->on_device ? number_of(host(run.factor->on_device), run.factor->type) : run.factor->value;
  }
  if (run.given() > 0)
    std::memcpy(comm.segment->collective(comm.rank, run.number), host(run.asked.from), run.given());
  own.published = run.number;
}

void reduce_from_all(const Run& run, size_t offset, void* to) {
  Communicator& comm = *run.comm;
  std::vector<const void*> from;
  std::vector<double> scalars;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    from.push_back(comm.segment->collective(rank, run.number) + offset);
    if (run.factor) scalars.push_back(comm.segment->rank(rank).calls[run.number % 2].scalar);
  }
  const auto reduction = run.factor ? Reduction::sum : static_cast<Reduction>(run.asked.op);
  reduce(to, from, scalars, run.asked.count, run.asked.type, reduction);
}

void take(Run& run) {
  Communicator& comm = *run.comm;
  auto* to = static_cast<std::byte*>(host(run.asked.to));
  const size_t bytes = run.bytes(), own = static_cast<size_t>(comm.rank) * bytes;
  const auto copy = [&](size_t offset, int rank, size_t from) {
    std::memcpy(to + offset, comm.segment->collective(rank, run.number) + from, bytes);
  };
  const auto from_all = [&](size_t from) {
    for (int rank = 0; rank < comm.ranks; ++rank) copy(static_cast<size_t>(rank) * bytes, rank, from);
  };
  switch (run.asked.kind) {
    case Kind::all_reduce:
      reduce_from_all(run, 0, to);
      break;
    case Kind::reduce:
      if (run.is_root()) reduce_from_all(run, 0, to);
      break;
    case Kind::reduce_scatter:
      reduce_from_all(run, own, to);
      break;
    case Kind::broadcast:
      copy(0, run.asked.root, 0);
      break;
    case Kind::scatter:
      copy(0, run.asked.root, own);
      break;
    case Kind::all_gather:
      from_all(0);
      break;
    case Kind::all_to_all:
      from_all(own);
      break;
    case Kind::gather:
      if (run.is_root()) from_all(0);
      break;
  }
}

bool all_ranks(Communicator& comm, std::atomic<uint64_t> Rank::*counter, uint64_t least) {
  for (int rank = 0; rank < comm.ranks; ++rank) {
    if (comm.segment->rank(rank).*counter < least) return false;
  }
  return true;
}

/// Giving waits until nobody reads what lay there two collectives ago.
std::vector<Stage> stages(const std::shared_ptr<Run>& run) {
  Stage first, second;
  if (run->given() > 0) first.accesses.push_back({run->asked.from, run->given(), false});
  if (run->factor && run->factor->on_device) {
    first.accesses.push_back({run->factor->on_device, size_of(run->factor->type), false});
  }
  first.ready = [run] {
    Communicator& comm = *run->comm;
    const uint64_t before = comm.own().published;
    return comm.own().finished == before && (before == 0 || all_ranks(comm, &Rank::finished, before - 1));
  };
  first.work = [run] { give(*run); };
  if (run->taken() > 0) second.accesses.push_back({run->asked.to, run->taken(), true});
  second.ready = [run] { return all_ranks(*run->comm, &Rank::published, run->number); };
  second.work = [run] {
    if (agree(*run)) take(*run);
    run->comm->own().finished = run->number;
  };
  return {std::move(first), std::move(second)};
}

ncclResult_t check_arguments(ncclComm_t comm, const Collective& asked, Run& run) {
  Communicator& state = *comm->state;
  if (size_of(asked.type) == 0 || asked.root < 0 || asked.root >= state.ranks || asked.op < 0)
    return ncclInvalidArgument;
  if (asked.op >= ncclNumOps) {
    const auto found = state.operators.find(asked.op);
    if (found == state.operators.end())
      return misuse(comm, asked.call, "the communicator has no such reduction");
    if (found->second.type != asked.type) return ncclInvalidArgument;
    run.factor = found->second;
  }
  if ((run.given() > 0 && !asked.from) || (run.taken() > 0 && !asked.to)) return ncclInvalidArgument;
  if (std::max(run.given(), run.taken()) > region_bytes)
    return misuse(comm, asked.call, "too much for the stand-in");
  return ncclSuccess;
}

/// Where the rank's own block lies in the larger buffer, the smaller one may be that block; else they must
/// not meet.
void check_overlap(const Run& run) {
  const auto* from = static_cast<const char*>(run.asked.from);
  const auto* to = static_cast<const char*>(run.asked.to);
  const size_t given = run.given(), taken = run.taken(),
               own = static_cast<size_t>(run.comm->rank) * run.bytes();
  if (given == 0 || taken == 0 || from >= to + taken || to >= from + given) return;
  const bool in_place = given == taken  ? from == to && run.asked.kind != Kind::all_to_all
                        : given < taken ? from == to + own
                                        : to == from + own;
  if (!in_place) report_misuse(run.asked.call, "the buffers overlap, and not as an in-place call's do");
}

/// One thread that calls for several ranks in turn must do so in a group: NCCL may wait in the first call.
void check_thread(const Communicator& comm, const char* call) {
  struct Caller {
    std::thread::id thread;
    uint64_t number;
    int rank;
  };
  static std::mutex mutex;
  static auto* callers = new std::map<std::string, Caller>;
  const std::lock_guard lock(mutex);
  const std::string id(comm.id.internal, sizeof comm.id.internal);
  const Caller now = {std::this_thread::get_id(), comm.issued, comm.rank};
  const auto [found, is_new] = callers->try_emplace(id, now);
  const Caller before = std::exchange(found->second, now);
  if (is_new || before.thread != now.thread || before.number != now.number || before.rank == now.rank) return;
  report_misuse(call, "one thread calls for several ranks: between ncclGroupStart and ncclGroupEnd it may");
}

ncclResult_t start(ncclComm_t comm, const Collective& asked) {
  auto run = std::make_shared<Run>(Run{comm->state, asked, std::nullopt});
  const ncclResult_t result = check_arguments(comm, asked, *run);
  if (result != ncclSuccess || asked.count == 0) return result;
  check_overlap(*run);
  return queue(comm, asked.call, asked.stream, stages(run));
}

}  // namespace

ncclResult_t collect(ncclComm_t comm, const Collective& asked) {
  ncclResult_t result = check_operation(comm, asked.call, asked.stream);
  if (result != ncclSuccess) return in_group() ? group().error = result : result;
  ++comm->state->issued;
  if (in_group()) {
    group().collectives.emplace_back([=] { return start(comm, asked); });
    return ncclSuccess;
  }
  check_thread(*comm->state, asked.call);
  return start(comm, asked);
}

}  // namespace simgpu::nccl
