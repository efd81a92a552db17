// Messages between two ranks. Those of a group go together; alone, a message holds its stream up until it is
// taken.
#include <tern/tests/simgpu/nccl/group.h>
#include <tern/tests/simgpu/nccl/operation.h>
#include <tern/tests/simgpu/nccl/reduce.h>

#include <algorithm>
#include <cstring>

namespace simgpu::nccl {
namespace {

size_t bytes_of(const Message& message) { return message.count * size_of(message.type); }

Call call_of(const Message& message) { return {.type = message.type, .count = message.count}; }

Channel& channel_of(Communicator& comm, const Message& message) {
  return message.sends ? comm.segment->channel(comm.rank, message.peer)
                       : comm.segment->channel(message.peer, comm.rank);
}

void send(Communicator& comm, const Message& message) {
  Channel& channel = channel_of(comm, message);
  channel.call = call_of(message);
  if (message.count > 0) {
    std::memcpy(comm.segment->message(comm.rank, message.peer), host(message.buffer), bytes_of(message));
  }
  ++channel.sent;
}

void receive(Communicator& comm, const Message& message) {
  Channel& channel = channel_of(comm, message);
  if (!channel.call.matches(call_of(message))) {
    report_misuse("ncclRecv", "rank " + std::to_string(message.peer) + " sends " +
                                  std::to_string(channel.call.count) + " of type " +
                                  std::to_string(channel.call.type) + ", rank " + std::to_string(comm.rank) +
                                  " expects " + std::to_string(message.count) + " of type " +
                                  std::to_string(message.type));
    comm.error = ncclInvalidUsage;
  } else if (message.count > 0) {
    std::memcpy(host(const_cast<void*>(message.buffer)), comm.segment->message(message.peer, comm.rank),
                bytes_of(message));
  }
  ++channel.taken;
}

/// Messages of a group to or from the same rank go in rounds: a channel holds one.
std::vector<std::vector<Message>> rounds(std::vector<Message> messages) {
  std::vector<std::vector<Message>> all;
  while (!messages.empty()) {
    std::vector<Message> round, later;
    for (const Message& message : messages) {
      const bool taken = std::any_of(round.begin(), round.end(), [&](const Message& other) {
        return other.sends == message.sends && other.peer == message.peer;
      });
      (taken ? later : round).push_back(message);
    }
    all.push_back(std::move(round));
    messages = std::move(later);
  }
  return all;
}

/// Three stages: give what is sent, take what arrives, wait until the own messages are taken.
std::vector<Stage> stages(const std::shared_ptr<Communicator>& comm, const std::vector<Message>& messages) {
  Stage giving, taking, waiting;
  for (const Message& message : messages) {
    if (message.count == 0) continue;
    (message.sends ? giving : taking).accesses.push_back({message.buffer, bytes_of(message), !message.sends});
  }
  const auto every = [comm, messages](bool sends, auto holds) {
    return std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
      return message.sends != sends || holds(channel_of(*comm, message));
    });
  };
  const auto is_free = [](const Channel& channel) { return channel.sent == channel.taken; };
  giving.ready = [=] { return every(true, is_free); };
  taking.ready = [=] {
    return every(false, [](const Channel& channel) { return channel.sent > channel.taken; });
  };
  waiting.ready = [=] { return every(true, is_free); };
  giving.work = [=] {
    for (const Message& message : messages) {
      if (message.sends) send(*comm, message);
    }
  };
  taking.work = [=] {
    for (const Message& message : messages) {
      if (!message.sends) receive(*comm, message);
    }
  };
  waiting.work = [] {};
  return {giving, taking, waiting};
}

ncclResult_t pass(ncclComm_t comm, const char* call, const Message& message) {
  ncclResult_t result = check_operation(comm, call, message.stream);
  const bool fits =
      result != ncclSuccess || (message.peer >= 0 && message.peer < comm->state->ranks &&
                                size_of(message.type) > 0 && (message.buffer || message.count == 0));
  if (!fits) result = ncclInvalidArgument;
  if (result == ncclSuccess && bytes_of(message) > region_bytes)
    result = misuse(comm, call, "too much for the stand-in");
  if (result != ncclSuccess) return in_group() ? group().error = result : result;
  if (in_group()) return group().messages.emplace_back(comm, message), ncclSuccess;
  if (message.peer == comm->state->rank)
    return misuse(comm, call, "a rank writes to itself outside of a group");
  return exchange_messages(comm, {message});
}

}  // namespace

ncclResult_t exchange_messages(ncclComm_t comm, const std::vector<Message>& messages) {
  const char* call = messages.size() > 1 ? "ncclGroupEnd" : messages[0].sends ? "ncclSend" : "ncclRecv";
  const cudaStream_t stream = messages[0].stream;
  for (const Message& message : messages) {
    if (message.stream != stream)
      return misuse(comm, call, "messages of one group on several streams are not simulated");
  }
  ncclResult_t result = ncclSuccess;
  for (const auto& round : rounds(messages)) {
    result = queue(comm, call, stream, stages(comm->state, round));
    if (result != ncclSuccess && result != ncclInProgress) break;
  }
  return result;
}

}  // namespace simgpu::nccl

ncclResult_t ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return simgpu::nccl::pass(comm, "ncclSend", {true, buffer, count, type, peer, stream});
}

ncclResult_t ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return simgpu::nccl::pass(comm, "ncclRecv", {false, buffer, count, type, peer, stream});
}
