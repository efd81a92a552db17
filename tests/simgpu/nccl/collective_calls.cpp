// The names under which NCCL offers collectives, and reductions that the user makes.
#include <tern/tests/simgpu/nccl/collective.h>
#include <tern/tests/simgpu/nccl/reduce.h>

using simgpu::nccl::check;
using simgpu::nccl::collect;
using simgpu::nccl::Kind;

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclAllReduce", Kind::all_reduce, from, to, count, type, op, 0, stream});
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclReduce", Kind::reduce, from, to, count, type, op, root, stream});
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclBroadcast", Kind::broadcast, from, to, count, type, ncclSum, root, stream});
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return collect(comm, {"ncclBcast", Kind::broadcast, buffer, buffer, count, type, ncclSum, root, stream});
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return collect(comm, {"ncclAllGather", Kind::all_gather, from, to, count, type, ncclSum, 0, stream});
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclReduceScatter", Kind::reduce_scatter, from, to, count, type, op, 0, stream});
}

ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return collect(comm, {"ncclAlltoAll", Kind::all_to_all, from, to, count, type, ncclSum, 0, stream});
}

ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclGather", Kind::gather, from, to, count, type, ncclSum, root, stream});
}

ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return collect(comm, {"ncclScatter", Kind::scatter, from, to, count, type, ncclSum, root, stream});
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (check(comm, "ncclRedOpCreatePreMulSum") != ncclSuccess || !op || !scalar) return ncclInvalidArgument;
  if (simgpu::nccl::size_of(type) == 0) return ncclInvalidArgument;
  simgpu::nccl::PreMultiplied made = {type};
  if (residence == ncclScalarDevice) {
    made.on_device = scalar;
  } else {
    made.value = simgpu::nccl::number_of(scalar, type);
  }
  const int number = comm->state->next_operator++;
  comm->state->operators[number] = made;
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  const char* call = "ncclRedOpDestroy";
  if (check(comm, call) != ncclSuccess) return ncclInvalidArgument;
  if (comm->state->operators.erase(op) > 0) return ncclSuccess;
  return simgpu::nccl::misuse(comm, call, "the communicator has no such reduction", ncclInvalidArgument);
}
