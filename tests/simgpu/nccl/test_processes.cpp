// Ranks in processes of their own, ranks that die, and each misuse with its report.
#include <tern/tests/simgpu/nccl/testing.h>

#include <chrono>

using namespace simgpu;

namespace {

ncclComm_t join(int ranks, const ncclUniqueId& id, int rank) {
  ncclComm_t comm = nullptr;
  MUST(ncclCommInitRank(&comm, ranks, id, rank));
  return comm;
}

void sum_up(ncclComm_t comm, int rank, int ranks, int rounds = 1) {
  OnDevice<float> value(std::vector<float>(1000, static_cast<float>(rank + 1)));
  float wanted = static_cast<float>(ranks * (ranks + 1)) / 2;
  for (int round = 0; round < rounds; ++round) {
    MUST(ncclAllReduce(value.data(), value.data(), 1000, ncclFloat, ncclSum, comm, nullptr));
    if (round > 0) wanted *= static_cast<float>(ranks);
  }
  MUST(cudaStreamSynchronize(nullptr));
  must(value.get()[999] == wanted, "the sum");
}

}  // namespace

TEST_CASE("processes exchange bytes, and divide") {
  CHECK(silent(in_processes(3, [](int rank, const ncclUniqueId& id, Board&) {
    const ncclComm_t comm = join(3, id, rank);
    sum_up(comm, rank, 3, 8);
    ncclComm_t pair = nullptr;
    MUST(ncclCommSplit(comm, rank == 1 ? NCCL_SPLIT_NOCOLOR : 7, rank, &pair, nullptr));
    must((pair == nullptr) == (rank == 1), "no communicator without a color");
    if (pair) sum_up(pair, rank / 2, 2);
    MUST(ncclCommDestroy(pair));
    MUST(ncclCommFinalize(comm));
    MUST(ncclCommDestroy(comm));
  })));
}

TEST_CASE("a process that does not synchronise still takes part") {
  CHECK(silent(in_processes(2, [](int rank, const ncclUniqueId& id, Board& board) {
    const ncclComm_t comm = join(2, id, rank);
    if (rank == 0) {
      sum_up(comm, rank, 2);
      board.flags[0] = 1;
    } else {
      const OnDevice<float> value(std::vector<float>(1000, 2));
      MUST(ncclAllReduce(value.data(), value.data(), 1000, ncclFloat, ncclSum, comm, nullptr));
      wait_for([&] { return board.flags[0] == 1; });
      MUST(cudaStreamSynchronize(nullptr));
    }
    MUST(ncclCommDestroy(comm));
  })));
}

TEST_CASE("a rank that is killed is an error of the others, and abort frees them") {
  CHECK(silent(in_processes(3, [](int rank, const ncclUniqueId& id, Board& board) {
    const ncclComm_t comm = join(3, id, rank);
    sum_up(comm, rank, 3);
    board.flags[rank] = 1;
    wait_for([&] { return board.flags[0] == 1 && board.flags[1] == 1; });
    if (rank == 2) kill(getpid(), SIGKILL);
    {
      const OnDevice<float> value(std::vector<float>(4));
      MUST(ncclAllReduce(value.data(), value.data(), 4, ncclFloat, ncclSum, comm, nullptr));
      ncclResult_t error = ncclSuccess;
      wait_for([&] { return ncclCommGetAsyncError(comm, &error) != ncclSuccess || error != ncclSuccess; });
      must(error == ncclRemoteError, "a remote error");
      must(cudaStreamQuery(nullptr) == cudaErrorNotReady, "the collective waits");
      MUST(ncclCommAbort(comm));
      MUST(cudaStreamSynchronize(nullptr));
    }
  })));
}

TEST_CASE("a rank that stops answering holds the others until they abort") {
  CHECK(silent(in_processes(2, [](int rank, const ncclUniqueId& id, Board& board) {
    const ncclComm_t comm = join(2, id, rank);
    if (rank == 1) {
      wait_for([&] { return board.flags[0] == 1; });
    } else {
      const OnDevice<float> value(std::vector<float>(4));
      MUST(ncclAllReduce(value.data(), value.data(), 4, ncclFloat, ncclSum, comm, nullptr));
      usleep(200'000);
      must(cudaStreamQuery(nullptr) == cudaErrorNotReady, "the collective waits");
      MUST(ncclCommAbort(comm));
      MUST(cudaStreamSynchronize(nullptr));
      board.flags[0] = 1;
    }
    if (rank == 1) MUST(ncclCommAbort(comm));
  })));
}

TEST_CASE("collectives and messages that differ between ranks") {
  const auto counts = in_processes(2, [](int rank, const ncclUniqueId& id, Board&) {
    const ncclComm_t comm = join(2, id, rank);
    const OnDevice<float> value(std::vector<float>(8));
    MUST(ncclAllReduce(value.data(), value.data(), rank == 0 ? 8 : 4, ncclFloat, ncclSum, comm, nullptr));
    MUST(cudaStreamSynchronize(nullptr));
    MUST(ncclCommDestroy(comm));
  });
  CHECK(contains(counts, "ranks differ"));
  CHECK(contains(counts, "count 4"));
  const auto messages = reports_of([] {
    const Ranks ranks(2);
    const auto values = ranks.buffers<float>(4, true);
    ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
      return rank == 0 ? ncclSend(values[0].data(), 4, ncclFloat, 1, comm, stream)
                       : ncclRecv(values[1].data(), 3, ncclFloat, 0, comm, stream);
    });
  });
  CHECK(contains(messages, "expects 3"));
}

TEST_CASE("ranks that share a device or a number, or count differently") {
  const auto device = in_processes(2, [](int rank, const ncclUniqueId& id, Board&) {
    MUST(cudaSetDevice(0));
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, 2, id, rank);
    must(rank == 0 || result == ncclInvalidUsage, "an error");
    if (comm) MUST(ncclCommAbort(comm));
  });
  CHECK(contains(device, "use the same device 0"));
  const auto number = reports_of([] {
    ncclUniqueId id;
    ncclComm_t first = nullptr, second = nullptr;
    MUST(ncclGetUniqueId(&id));
    MUST(ncclCommInitRank(&first, 1, id, 0));
    must(ncclCommInitRank(&second, 1, id, 0) == ncclInvalidUsage, "an error");
    MUST(ncclCommDestroy(first));
  });
  CHECK(contains(number, "rank 0 is there already"));
}

TEST_CASE("communicators destroyed, forgotten, or used outside of a group by one thread") {
  const auto destroyed = reports_of([] {
    ncclComm_t comm = nullptr;
    MUST(ncclCommInitAll(&comm, 1, nullptr));
    MUST(ncclCommDestroy(comm));
    int rank = 0;
    must(ncclCommUserRank(comm, &rank) == ncclInvalidArgument, "an error");
  });
  CHECK(contains(destroyed, "NCCL communicator is already destroyed"));
  const auto forgotten = reports_of([] {
    ncclComm_t comm = nullptr;
    MUST(ncclCommInitAll(&comm, 1, nullptr));
  });
  CHECK(contains(forgotten, "NCCL communicator"));
  const auto alone = reports_of([] {
    const Ranks ranks(2);
    const auto values = ranks.buffers<float>(4, true);
    for (size_t rank = 0; rank < 2; ++rank) {
      MUST(ncclAllReduce(values[rank].data(), values[rank].data(), 4, ncclFloat, ncclSum, ranks.comms[rank],
                         ranks.streams[rank]));
    }
    for (cudaStream_t stream : ranks.streams) MUST(cudaStreamSynchronize(stream));
  });
  CHECK(contains(alone, "one thread calls for several ranks"));
}

TEST_CASE("streams and memory of another device, memory too short, buffers that overlap") {
  const auto with = [](size_t count, size_t shift, bool swap) {
    return reports_of([=] {
      const Ranks ranks(2);
      const auto from = ranks.buffers<float>(4, true);
      MUST(ncclGroupStart());
      for (size_t rank = 0; rank < 2; ++rank) {
        float* at = from[rank].data();
        ncclAllReduce(at, at + shift, count, ncclFloat, ncclSum, ranks.comms[rank],
                      ranks.streams[swap ? 1 - rank : rank]);
      }
      ncclGroupEnd();
      for (cudaStream_t stream : ranks.streams) cudaStreamSynchronize(stream);
    });
  };
  CHECK(contains(with(4, 0, true), "the communicator belongs to device"));
  CHECK(contains(with(2, 1, false), "the buffers overlap"));
  CHECK(!with(5, 0, false).empty());
}
