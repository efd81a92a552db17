// Work of the libraries that a graph keeps and runs again.
#include <cublas_v2.h>
#include <tern/tests/simgpu/nccl/testing.h>

using namespace simgpu;

TEST_CASE("a product that a graph keeps runs at each launch, with alpha as it was") {
  cublasHandle_t cublas = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  const OnDevice<float> a(std::vector<float>{2}), c(std::vector<float>{1});
  MUST(cublasCreate(&cublas));
  MUST(cudaStreamCreate(&stream));
  MUST(cublasSetStream(cublas, stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  float alpha = 3, beta = 1;
  MUST(cublasSgemm(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, a.data(), 1, a.data(), 1, &beta,
                   c.data(), 1));
  alpha = beta = 0;
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 0; launch < 2; ++launch) MUST(cudaGraphLaunch(executable, stream));
  MUST(cudaStreamSynchronize(stream));
  CHECK(c.get() == std::vector<float>{1 + 2 * 12});
  MUST(cudaGraphExecDestroy(executable));
  MUST(cudaGraphDestroy(graph));
  MUST(cublasDestroy(cublas));
  MUST(cudaStreamDestroy(stream));
}

TEST_CASE("collectives of a graph run at each launch") {
  const Ranks ranks(2);
  const auto values = ranks.buffers<float>(3, true);
  const auto before = values[0].get(), other = values[1].get();
  std::vector<cudaGraph_t> graphs(2);
  std::vector<cudaGraphExec_t> executables(2);
  for (size_t rank = 0; rank < 2; ++rank) {
    MUST(cudaStreamBeginCapture(ranks.streams[rank], cudaStreamCaptureModeThreadLocal));
  }
  MUST(ncclGroupStart());
  for (size_t rank = 0; rank < 2; ++rank) {
    MUST(ncclAllReduce(values[rank].data(), values[rank].data(), 3, ncclFloat, ncclSum, ranks.comms[rank],
                       ranks.streams[rank]));
  }
  MUST(ncclGroupEnd());
  for (size_t rank = 0; rank < 2; ++rank) {
    MUST(cudaStreamEndCapture(ranks.streams[rank], &graphs[rank]));
    MUST(cudaGraphInstantiate(&executables[rank], graphs[rank], 0));
    for (int launch = 0; launch < 3; ++launch) MUST(cudaGraphLaunch(executables[rank], ranks.streams[rank]));
  }
  for (cudaStream_t stream : ranks.streams) MUST(cudaStreamSynchronize(stream));
  for (size_t i = 0; i < 3; ++i) CHECK(values[1].get()[i] == 4 * (before[i] + other[i]));
  for (size_t rank = 0; rank < 2; ++rank) {
    MUST(cudaGraphExecDestroy(executables[rank]));
    MUST(cudaGraphDestroy(graphs[rank]));
  }
}
