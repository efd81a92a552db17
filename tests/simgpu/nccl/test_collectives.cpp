// Collectives among the devices of one process, compared with sums in double.
#include <tern/tests/simgpu/nccl/testing.h>

#include <algorithm>
#include <thread>

using namespace simgpu;

namespace {

double reduced(std::vector<double> values, ncclRedOp_t op) {
  double result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    switch (op) {
      case ncclProd:
        result *= values[i];
        break;
      case ncclMax:
        result = std::max(result, values[i]);
        break;
      case ncclMin:
        result = std::min(result, values[i]);
        break;
      default:
        result += values[i];
    }
  }
  return op == ncclAvg ? result / static_cast<double>(values.size()) : result;
}

/// For each element, the reduction over the ranks.
template <class T>
std::vector<double> reduced(const std::vector<OnDevice<T>>& inputs, ncclRedOp_t op) {
  std::vector<double> result;
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    std::vector<double> values;
    for (const auto& input : inputs) values.push_back(as_double(input.get())[i]);
    result.push_back(static_cast<double>(widened(rounded<T>(reduced(values, op)))));
  }
  return result;
}

template <class T>
void check_all_reduce(ncclDataType_t type, std::initializer_list<ncclRedOp_t> ops) {
  const Ranks ranks(3);
  for (const ncclRedOp_t op : ops) {
    const auto from = ranks.buffers<T>(5, true);
    const auto to = ranks.buffers<T>(5, false);
    const auto wanted = reduced(from, op);
    ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(from[rank].data(), to[rank].data(), 5, type, op, comm, stream);
    });
    for (const auto& result : to) CHECK(as_double(result.get()) == wanted);
    ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(from[rank].data(), from[rank].data(), 5, type, op, comm, stream);
    });
    for (const auto& result : from) CHECK(as_double(result.get()) == wanted);
  }
}

}  // namespace

TEST_CASE("all-reduce in every type, with every reduction, in place and not") {
  check_all_reduce<float>(ncclFloat32, {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg});
  check_all_reduce<double>(ncclFloat64, {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg});
  check_all_reduce<__half>(ncclFloat16, {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg});
  check_all_reduce<__nv_bfloat16>(ncclBfloat16, {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg});
  check_all_reduce<__nv_fp8_e4m3>(ncclFloat8e4m3, {ncclSum, ncclMax});
  check_all_reduce<int8_t>(ncclInt8, {ncclSum, ncclProd, ncclMax, ncclMin});
  check_all_reduce<int32_t>(ncclInt32, {ncclSum, ncclProd, ncclMax, ncclMin});
  check_all_reduce<int64_t>(ncclInt64, {ncclSum, ncclProd, ncclMax, ncclMin});
}

TEST_CASE("broadcast, reduce, all-gather, reduce-scatter, all-to-all") {
  const Ranks ranks(3);
  const auto from = ranks.buffers<float>(6, true);
  const auto to = ranks.buffers<float>(18, false);
  const auto value = [&](size_t rank, size_t i) { return from[rank].get()[i]; };
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllGather(from[rank].data(), to[rank].data(), 6, ncclFloat, comm, stream);
  });
  for (size_t i = 0; i < 18; ++i) CHECK(to[2].get()[i] == value(i / 6, i % 6));
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclReduceScatter(from[rank].data(), to[rank].data(), 2, ncclFloat, ncclSum, comm, stream);
  });
  for (size_t rank = 0; rank < 3; ++rank) CHECK(to[rank].get()[1] == reduced(from, ncclSum)[rank * 2 + 1]);
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclAlltoAll(from[rank].data(), to[rank].data(), 2, ncclFloat, comm, stream);
  });
  for (size_t i = 0; i < 6; ++i) CHECK(to[1].get()[i] == value(i / 2, 2 + i % 2));
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(from[rank].data(), rank == 1 ? to[1].data() : nullptr, 6, ncclFloat, ncclMax, 1, comm,
                      stream);
  });
  CHECK(to[1].get()[4] == reduced(from, ncclMax)[4]);
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(from[rank].data(), from[rank].data(), 6, ncclFloat, 2, comm, stream);
  });
  CHECK(from[0].get() == from[2].get());
}

TEST_CASE("a sum of products with a factor of each rank, from host and device memory") {
  const Ranks ranks(2);
  const auto from = ranks.buffers<float>(4, true);
  const auto to = ranks.buffers<float>(4, false);
  float factors[] = {2, -3};
  const OnDevice<float> on_device(std::vector<float>{2});
  ncclRedOp_t ops[2];
  MUST(ncclRedOpCreatePreMulSum(&ops[0], on_device.data(), ncclFloat, ncclScalarDevice, ranks.comms[0]));
  MUST(ncclRedOpCreatePreMulSum(&ops[1], &factors[1], ncclFloat, ncclScalarHostImmediate, ranks.comms[1]));
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(from[rank].data(), to[rank].data(), 4, ncclFloat, ops[rank], comm, stream);
  });
  for (size_t i = 0; i < 4; ++i) CHECK(to[1].get()[i] == 2 * from[0].get()[i] - 3 * from[1].get()[i]);
  for (size_t rank = 0; rank < 2; ++rank) MUST(ncclRedOpDestroy(ops[rank], ranks.comms[rank]));
}

TEST_CASE("many collectives in a row, on two streams of a communicator, keep their order") {
  const Ranks ranks(2);
  std::vector<cudaStream_t> others(2);
  for (size_t rank = 0; rank < 2; ++rank) {
    MUST(cudaSetDevice(static_cast<int>(rank)));
    MUST(cudaStreamCreate(&others[rank]));
  }
  MUST(cudaSetDevice(0));
  const auto values = ranks.buffers<double>(3, true);
  const auto first = as_double(values[0].get()), second = as_double(values[1].get());
  for (int round = 0; round < 6; ++round) {
    MUST(ncclGroupStart());
    for (size_t rank = 0; rank < 2; ++rank) {
      double* at = values[rank].data();
      MUST(ncclAllReduce(at, at, 3, ncclDouble, ncclSum, ranks.comms[rank],
                         round % 2 ? others[rank] : ranks.streams[rank]));
    }
    MUST(ncclGroupEnd());
  }
  for (size_t rank = 0; rank < 2; ++rank) MUST(cudaStreamSynchronize(others[rank]));
  for (size_t i = 0; i < 3; ++i) CHECK(values[1].get()[i] == 32 * (first[i] + second[i]));
  for (cudaStream_t stream : others) MUST(cudaStreamDestroy(stream));
}

TEST_CASE("messages of a group pass in a ring, and to the rank itself") {
  const Ranks ranks(3);
  const auto from = ranks.buffers<float>(4, true);
  const auto to = ranks.buffers<float>(4, false);
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    MUST(ncclSend(from[rank].data(), 4, ncclFloat, static_cast<int>(rank + 1) % 3, comm, stream));
    return ncclRecv(to[rank].data(), 4, ncclFloat, static_cast<int>(rank + 2) % 3, comm, stream);
  });
  for (size_t rank = 0; rank < 3; ++rank) CHECK(to[rank].get() == from[(rank + 2) % 3].get());
  ranks.group([&](size_t rank, ncclComm_t comm, cudaStream_t stream) {
    for (size_t half : {0, 2}) {
      MUST(ncclSend(from[rank].data() + half, 2, ncclFloat, static_cast<int>(rank), comm, stream));
      MUST(ncclRecv(to[rank].data() + half, 2, ncclFloat, static_cast<int>(rank), comm, stream));
    }
    return ncclSuccess;
  });
  CHECK(to[0].get() == from[0].get());
}

TEST_CASE("ranks in threads, communicators that do not block, and a division of them") {
  ncclUniqueId id;
  MUST(ncclGetUniqueId(&id));
  std::vector<double> sums(4);
  const auto rank_thread = [&](int rank) {
    MUST(cudaSetDevice(rank));
    ncclComm_t comm = nullptr, part = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const auto settle = [](ncclComm_t which) {
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress) MUST(ncclCommGetAsyncError(which, &state));
      MUST(state);
    };
    must(ncclCommInitRankConfig(&comm, 4, id, rank, &config) != ncclInvalidArgument, "init");
    settle(comm);
    const ncclResult_t divided = ncclCommSplit(comm, rank % 2, -rank, &part, nullptr);
    must(divided == ncclSuccess || divided == ncclInProgress, "split");
    settle(part);
    int new_rank = -1, count = 0;
    MUST(ncclCommUserRank(part, &new_rank));
    MUST(ncclCommCount(part, &count));
    must(count == 2 && new_rank == (rank < 2 ? 1 : 0), "the order of keys");
    {
      const OnDevice<double> value(std::vector<double>{rank + 1.0});
      must(ncclAllReduce(value.data(), value.data(), 1, ncclDouble, ncclSum, part, nullptr) == ncclInProgress,
           "queue");
      settle(part);
      MUST(cudaStreamSynchronize(nullptr));
      sums[static_cast<size_t>(rank)] = value.get()[0];
    }
    MUST(ncclCommDestroy(part));
    MUST(ncclCommDestroy(comm));
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) threads.emplace_back(rank_thread, rank);
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<double>{4, 6, 4, 6});
}

TEST_CASE("an abort from another thread frees a thread that synchronises") {
  const Ranks ranks(2);
  const auto values = ranks.buffers<float>(3, true);
  ncclComm_t comms[2];
  MUST(ncclCommInitAll(comms, 2, nullptr));
  MUST(ncclAllReduce(values[0].data(), values[0].data(), 3, ncclFloat, ncclSum, comms[0], ranks.streams[0]));
  std::thread watchdog([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (ncclComm_t comm : comms) MUST(ncclCommAbort(comm));
  });
  MUST(cudaStreamSynchronize(ranks.streams[0]));
  watchdog.join();
}
