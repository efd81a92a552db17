// Each misuse of the simulated cuBLAS fires its report. The processes that misuse it are children: nothing
// else runs here.
#include <cublas_v2.h>
#include <tern/tests/simgpu/testing.h>

using namespace simgpu;

namespace {

const float one = 1, zero = 0;

cublasHandle_t created() {
  cublasHandle_t handle = nullptr;
  MUST(cublasCreate(&handle));
  return handle;
}

cublasStatus_t multiply(cublasHandle_t handle, const float* a, const float* b, float* c,
                        const float* beta = &zero) {
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, b, 2, beta, c, 2);
}

std::string with_memory(const std::function<void(cublasHandle_t, OnDevice<float>&)>& body) {
  return reports_of([&] {
    const cublasHandle_t handle = created();
    OnDevice<float> memory(std::vector<float>(12));
    body(handle, memory);
    cudaDeviceSynchronize();
    cublasDestroy(handle);
  });
}

}  // namespace

TEST_CASE("right use reports nothing") {
  CHECK(with_memory([](auto handle, auto& m) {
          multiply(handle, m.data(), m.data() + 4, m.data() + 8);
        }).empty());
}

TEST_CASE("handles that are null, never created, destroyed or forgotten") {
  CHECK(contains(reports_of([] { multiply(nullptr, nullptr, nullptr, nullptr); }), "handle is null"));
  const auto never = reports_of([] {
    int64_t other = 0;
    cublasSetStream(reinterpret_cast<cublasHandle_t>(&other), nullptr);
  });
  CHECK(contains(never, "was never created"));
  const auto destroyed = reports_of([] {
    const cublasHandle_t handle = created();
    cublasDestroy(handle);
    must(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH) == CUBLAS_STATUS_NOT_INITIALIZED, "an error");
  });
  CHECK(contains(destroyed, "already destroyed"));
  CHECK(contains(reports_of([] { created(); }), "cuBLAS handle"));
}

TEST_CASE("a handle of another device, a stream of another device") {
  const auto device = with_memory([](auto handle, auto& m) {
    MUST(cudaSetDevice(1));
    multiply(handle, m.data(), m.data() + 4, m.data() + 8);
    MUST(cudaSetDevice(0));
  });
  CHECK(contains(device, "the handle belongs to device 0"));
  const auto stream = with_memory([](auto handle, auto& m) {
    cudaStream_t other = nullptr;
    MUST(cudaSetDevice(1));
    MUST(cudaStreamCreate(&other));
    MUST(cudaSetDevice(0));
    MUST(cublasSetStream(handle, other));
    multiply(handle, m.data(), m.data() + 4, m.data() + 8);
    MUST(cudaStreamDestroy(other));
  });
  CHECK(contains(stream, "its stream's device is 1"));
}

TEST_CASE("memory out of bounds, uninitialised, of the host, or read and written at once") {
  CHECK(!with_memory([](auto handle, auto& m) {
           multiply(handle, m.data(), m.data() + 4, m.data() + 10);
         }).empty());
  const auto uninitialised = with_memory([](auto handle, auto& m) {
    const OnDevice<float> fresh(4);
    multiply(handle, m.data(), m.data() + 4, fresh.data(), &one);
    cudaDeviceSynchronize();
  });
  CHECK(contains(uninitialised, "nitiali"));
  const auto host = with_memory([](auto handle, auto& m) {
    const std::vector<float> values(4);
    multiply(handle, values.data(), m.data() + 4, m.data() + 8);
    cudaDeviceSynchronize();
  });
  CHECK(!host.empty());
  const auto overlap =
      with_memory([](auto h, auto& m) { multiply(h, m.data(), m.data() + 4, m.data() + 2); });
  CHECK(contains(overlap, "overlaps"));
}

TEST_CASE("pointers that do not fit the pointer mode") {
  const auto factor = with_memory(
      [](auto handle, auto& m) { multiply(handle, m.data(), m.data() + 4, m.data() + 8, m.data()); });
  CHECK(contains(factor, "the pointer mode is host"));
  const auto result =
      with_memory([](auto handle, auto& m) { cublasSdot(handle, 2, m.data(), 1, m.data(), 1, m.data()); });
  CHECK(contains(result, "the pointer mode is host"));
}

TEST_CASE("a call that the stand-in lacks stops the program by name") {
  const auto missing = reports_of([] {
    const cublasHandle_t handle = created();
    cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 1, &one,
                nullptr, 1, nullptr, 1);
  });
  CHECK(contains(missing, "cublasStrsm_v2"));
}

TEST_CASE("the workspace is the user's until a new stream is set, and one stream's only") {
  const auto with_workspace = [](bool stream_first) {
    return with_memory([=](auto handle, auto& m) {
      cudaStream_t stream = nullptr;
      const OnDevice<char> workspace(256);
      MUST(cudaStreamCreate(&stream));
      if (stream_first) MUST(cublasSetStream(handle, stream));
      MUST(cublasSetWorkspace(handle, workspace.data(), 256));
      if (!stream_first) MUST(cublasSetStream(handle, stream));
      MUST(multiply(handle, m.data(), m.data() + 4, m.data() + 8));
      MUST(cudaStreamSynchronize(stream));
      std::vector<char> read(16);
      cudaMemcpy(read.data(), workspace.data(), read.size(), cudaMemcpyDeviceToHost);
      cudaStreamDestroy(stream);
    });
  };
  CHECK(with_workspace(true).empty());
  CHECK(contains(with_workspace(false), "nitiali"));
  const auto shared = with_memory([](auto handle, auto& m) {
    const cublasHandle_t other = created();
    cudaStream_t streams[2];
    const OnDevice<char> workspace(256);
    const OnDevice<float> results(8);
    for (int i = 0; i < 2; ++i) {
      const cublasHandle_t used = i == 0 ? handle : other;
      MUST(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
      MUST(cublasSetStream(used, streams[i]));
      MUST(cublasSetWorkspace(used, workspace.data(), 256));
      MUST(multiply(used, m.data(), m.data() + 4, results.data() + 4 * i));
    }
    cudaDeviceSynchronize();
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
    cublasDestroy(other);
  });
  CHECK(contains(shared, "race"));
}

TEST_CASE("calls fail when the environment wants it") {
  const auto failing = reports_of([] {
    setenv("SIMGPU_FAIL", "cublas_create:1,cublas:2", 1);
    cublasHandle_t handle = nullptr;
    must(cublasCreate(&handle) == CUBLAS_STATUS_ALLOC_FAILED, "the first creation fails");
    MUST(cublasCreate(&handle));
    {
      const OnDevice<float> m(std::vector<float>(12));
      MUST(multiply(handle, m.data(), m.data() + 4, m.data() + 8));
      must(multiply(handle, m.data(), m.data() + 4, m.data() + 8) == CUBLAS_STATUS_EXECUTION_FAILED,
           "the second");
      MUST(multiply(handle, m.data(), m.data() + 4, m.data() + 8));
    }
    MUST(cublasDestroy(handle));
  });
  CHECK(failing.empty());
}
