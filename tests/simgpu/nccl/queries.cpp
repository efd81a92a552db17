// What NCCL answers about itself and its communicators, and memory by its name.
#include <tern/tests/simgpu/nccl/communicator.h>

using simgpu::nccl::check;

namespace {

ncclResult_t tell(ncclComm_t comm, const char* call, int* result, int simgpu::nccl::Communicator::*field) {
  if (check(comm, call) != ncclSuccess || !result) return ncclInvalidArgument;
  if (!comm->state->is_ready()) return simgpu::nccl::misuse(comm, call, "the communicator is not ready yet");
  *result = (*comm->state).*field;
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a call of CUDA failed";
    case ncclSystemError:
      return "a call of the system failed";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "another rank failed or went away";
    case ncclInProgress:
      return "the operation is in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm && check(comm, "ncclGetLastError") == ncclSuccess ? comm->state->message.c_str() : "";
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return tell(comm, "ncclCommCount", count, &simgpu::nccl::Communicator::ranks);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return tell(comm, "ncclCommCuDevice", device, &simgpu::nccl::Communicator::device);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return tell(comm, "ncclCommUserRank", rank, &simgpu::nccl::Communicator::rank);
}

ncclResult_t ncclMemAlloc(void** memory, size_t size) {
  return cudaMalloc(memory, size) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* memory) {
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/// Registering a buffer only makes the real library faster.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t size, void** handle) {
  const char* call = "ncclCommRegister";
  if (check(comm, call) != ncclSuccess || !handle || !buffer || size == 0) return ncclInvalidArgument;
  if (simgpu::device_of(buffer) != comm->state->device) {
    return simgpu::nccl::misuse(comm, call, "the buffer is not memory of the communicator's device");
  }
  *handle = buffer;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return check(comm, "ncclCommDeregister") != ncclSuccess || !handle ? ncclInvalidArgument : ncclSuccess;
}
