// Operations of all ranks: all-reduce and its kind.
#pragma once

#include <tern/tests/simgpu/nccl/operation.h>

namespace simgpu::nccl {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, gather, scatter };

struct Collective {
  const char* call;
  Kind kind;
  const void* from;
  void* to;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  int root = 0;
  cudaStream_t stream;
};

/// Queues it, or keeps it for the end of the group.
ncclResult_t collect(ncclComm_t comm, const Collective& asked);

}  // namespace simgpu::nccl
