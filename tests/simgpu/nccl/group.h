// Calls between ncclGroupStart and ncclGroupEnd, which begin together at the end.
#pragma once

#include <tern/tests/simgpu/nccl/communicator.h>

namespace simgpu::nccl {

/// A message that a group fuses with others.
struct Message {
  bool sends;
  const void* buffer;
  size_t count;
  ncclDataType_t type;
  int peer;
  cudaStream_t stream;
};

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<std::pair<ncclComm_t, Step>> steps;
  std::vector<std::function<ncclResult_t()>> collectives;
  std::vector<std::pair<ncclComm_t, Message>> messages;
};

/// The calling thread's.
Group& group();

/// Queues the messages as one operation (point_to_point.cpp).
ncclResult_t exchange_messages(ncclComm_t comm, const std::vector<Message>& messages);

}  // namespace simgpu::nccl
