#include <tern/distributed/combine.h>
#include <tern/distributed/shared_memory_group.h>

namespace tern::distributed {

std::string SharedMemoryGroup::wrong_counts() const {
  const auto counts = [&](int r) { return reinterpret_cast<const int64_t*>(slot(r)); };
  std::string problem;
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      const int64_t sent = counts(from)[to], expected = counts(to)[size() + from];
      if (sent == expected) continue;
      problem += (problem.empty() ? "" : "; ") + list_of({from}) + " sends " + std::to_string(sent) +
                 " elements to " + list_of({to}) + ", which expects " + std::to_string(expected);
    }
  }
  return problem;
}

// The most elements that any rank sends to another. Every rank sees all counts, and so finds the same error.
int64_t SharedMemoryGroup::agree_on_counts(Turn& turn, const Counts& out_counts, const Counts& in_counts) {
  const size_t ranks = static_cast<size_t>(size()), bytes = ranks * sizeof(int64_t);
  if (2 * bytes > Segment::slot_bytes) fail(turn, "too many ranks on one host");
  int64_t largest = 0;
  const auto write = [&] {
    copy_bytes(slot(rank()), in_counts.data(), bytes);
    copy_bytes(slot(rank()) + bytes, out_counts.data(), bytes);
  };
  const auto read = [&] {
    const std::string problem = wrong_counts();
    if (!problem.empty()) fail(turn, problem);
    for (int r = 0; r < size(); ++r) {
      const int64_t* const counts = reinterpret_cast<const int64_t*>(slot(r));
      largest = std::max(largest, *std::max_element(counts, counts + ranks));
    }
  };
  step(turn, write, read);
  return largest;
}

void SharedMemoryGroup::all_to_all(const Call& call, const Tensor& out, const Counts& out_counts,
                                   const Tensor& x, const Counts& in_counts) {
  Turn turn = begin(call);
  const size_t element = size_of(x.dtype());
  const size_t largest = static_cast<size_t>(agree_on_counts(turn, out_counts, in_counts)) * element;
  for (size_t done = 0; done < largest; done += share()) {
    // move(r, bytes from `done` of rank r's part of `tensor`, how many), where the part goes that far.
    const auto each = [&](const Tensor& tensor, const Counts& counts, const auto& move) {
      char* part = bytes_of(tensor);
      for (int r = 0; r < size(); ++r) {
        const size_t total = static_cast<size_t>(counts[static_cast<size_t>(r)]) * element;
        if (done < total) move(r, part + done, std::min(total - done, share()));
        part += total;
      }
    };
    const auto write = [&] {
      each(x, in_counts, [&](int r, char* from, size_t bytes) {
        copy_bytes(slot(rank()) + static_cast<size_t>(r) * share(), from, bytes);
      });
    };
    const auto read = [&] {
      each(out, out_counts, [&](int r, char* to, size_t bytes) {
        copy_bytes(to, slot(r) + static_cast<size_t>(rank()) * share(), bytes);
      });
    };
    step(turn, write, read);
  }
}

void SharedMemoryGroup::send(const Call& call, const Tensor& x) {
  const Turn turn = begin(call);
  Channel& channel = segment_->channel(rank(), call.root);
  const size_t total = size_in_bytes(x);
  size_t done = 0;
  do {
    const size_t bytes = std::min(total - done, Channel::block_bytes);
    const uint32_t block = channel.written.count.load(std::memory_order_relaxed);
    wait(turn, channel.read, block + 1 - Channel::blocks, call.root);
    Channel::Block& to = channel.ring[block % Channel::blocks];
    if (done == 0) to.call = to_wire(message_of(call));
    copy_bytes(to.bytes, bytes_of(x) + done, bytes);
    channel.written.raise_to(block + 1);
    done += bytes;
  } while (done < total);
}

void SharedMemoryGroup::recv(const Call& call, const Tensor& x) {
  const Turn turn = begin(call);
  Channel& channel = segment_->channel(call.root, rank());
  const size_t total = size_in_bytes(x);
  size_t done = 0;
  do {
    const size_t bytes = std::min(total - done, Channel::block_bytes);
    const uint32_t block = channel.read.count.load(std::memory_order_relaxed);
    wait(turn, channel.written, block + 1, call.root);
    const Channel::Block& from = channel.ring[block % Channel::blocks];
    if (done == 0 && !(from.call == to_wire(message_of(call))))
      fail(turn, "what was sent is " + message_text(from.call));
    copy_bytes(bytes_of(x) + done, from.bytes, bytes);
    channel.read.raise_to(block + 1);
    done += bytes;
  } while (done < total);
}

}  // namespace tern::distributed
