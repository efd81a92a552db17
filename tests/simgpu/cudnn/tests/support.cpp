// Prints which graphs of support_cases.h can be planned, a line each, for a device that isn't there: the real
// library and the simulated one must print the same.
//
//     support FAMILY...

#include <tern/tests/simgpu/cudnn/tests/support_cases.h>

#include <cstdio>
#include <cstdlib>

namespace drive {
namespace {

/// What cuDNN's device properties say of an A100, an H100 or a B200.
std::string properties_text(int capability) {
  struct Device {
    const char* name;
    int multiprocessors, l2_bytes, shared_bytes;
    int64_t memory;
  };
  const Device device = capability >= 100 ? Device{"NVIDIA B200", 148, 132644864, 232448, 192265846784}
                        : capability >= 90
                            ? Device{"NVIDIA H100 80GB HBM3", 132, 52428800, 232448, 85899345920}
                            : Device{"NVIDIA A100-SXM4-40GB", 108, 41943040, 166912, 42949672960};
  char text[2048];
  std::snprintf(
      text, sizeof(text),
      R"({"deviceName":"%s","cudaDeviceId":0,"deviceVer":%d,"driverVer":13000,"isTccDriver":0,)"
      R"("l2CacheSize":%d,"maxCtasPerSM":32,"maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":%d,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
      R"("memClockRateKHz":1215000,"multiProcessorCount":%d,"pciDeviceId":0,"regsPerBlock":65536,)"
      R"("reservedSharedMemoryPerBlock":1024,"smClockRateKHz":1410000,"supportCoopLaunch":1,)"
      R"("totalGlobalMem":%lld,"warpSize":32,"maxBlockSize":[1024,1024,64],)"
      R"("maxGridSize":[2147483647,65535,65535]})",
      device.name, capability * 10, device.l2_bytes, device.shared_bytes, device.multiprocessors,
      static_cast<long long>(device.memory));
  return text;
}

Descriptor properties(int capability) {
  const std::string text = properties_text(capability);
  Descriptor result(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  result.set_raw(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<int64_t>(text.size() + 1), text.c_str());
  return result.finalize();
}

/// "yes" where a framework would find a plan; otherwise why not.
std::string answer(const SupportCase& of, const Descriptor& device) {
  try {
    const Descriptor graph = of.graph().finalize(nullptr);
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_FALLBACK, CUDNN_HEUR_MODE_INSTANT}) {
      if (!engine_configurations(graph, mode, &device).empty()) return "yes";
    }
    return "no";
  } catch (const CudnnError& error) {
    return CUDNN_STATUS_CATEGORY(error.status) == CUDNN_STATUS_BAD_PARAM ? "bad parameter" : "no";
  }
}

int run(int count, char** families) {
  const std::map<std::string, std::vector<SupportCase> (*)()> all = {{"convolution", convolution_cases},
                                                                     {"fused", fused_convolution_cases},
                                                                     {"pointwise", pointwise_cases},
                                                                     {"matmul", matmul_cases},
                                                                     {"reduction", reduction_cases},
                                                                     {"resample", resample_cases},
                                                                     {"norm", norm_cases},
                                                                     {"rearrange", rearrange_cases},
                                                                     {"attention", attention_cases}};
  for (int i = 0; i < count; i++) {
    for (const SupportCase& of : all.at(families[i])()) {
      std::printf("%s:", of.name.c_str());
      for (const int capability : {80, 90, 100})
        std::printf(" %s", answer(of, properties(capability)).c_str());
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace

std::string name_of(cudnnDataType_t dtype) {
  switch (dtype) {
    case CUDNN_DATA_FLOAT:
      return "float";
    case CUDNN_DATA_DOUBLE:
      return "double";
    case CUDNN_DATA_HALF:
      return "half";
    case CUDNN_DATA_BFLOAT16:
      return "bfloat16";
    case CUDNN_DATA_INT8:
      return "int8";
    case CUDNN_DATA_INT32:
      return "int32";
    case CUDNN_DATA_INT64:
      return "int64";
    case CUDNN_DATA_BOOLEAN:
      return "boolean";
    default:
      return std::to_string(dtype);
  }
}

}  // namespace drive

int main(int count, char** arguments) { return drive::run(count - 1, arguments + 1); }
