#include <tern/distributed/combine.h>
#include <tern/distributed/shared_memory_group.h>

namespace tern::distributed {

void SharedMemoryGroup::all_reduce(const Call& call, const Tensor& x) {
  constexpr size_t small = 32 * 1024;
  if (size() == 2 || size_in_bytes(x) <= small)
    reduce_directly(call, x);
  else
    reduce_in_sections(call, x);
}

// Every rank reads all others' pieces.
void SharedMemoryGroup::reduce_directly(const Call& call, const Tensor& x) {
  std::vector<const void*> parts(static_cast<size_t>(size()));
  const auto write = [&](size_t done, size_t bytes) { copy_bytes(slot(rank()), bytes_of(x) + done, bytes); };
  const auto read = [&](size_t done, size_t bytes) {
    char* const own = bytes_of(x) + done;
    for (int r = 0; r < size(); ++r) parts[static_cast<size_t>(r)] = r == rank() ? own : slot(r);
    combine(x.dtype(), *call.op, parts, own, bytes);
  };
  steps(call, size_in_bytes(x), Segment::slot_bytes, write, read);
}

// Every rank reduces its section of each piece; while it does, it collects the others' sections of the piece
// before.
void SharedMemoryGroup::reduce_in_sections(const Call& call, const Tensor& x) {
  Turn turn = begin(call);
  const size_t total = size_in_bytes(x), piece = Segment::slot_bytes, ranks = static_cast<size_t>(size());
  const size_t pieces = (total + piece - 1) / piece;
  // Where section r of piece p lies in it.
  const auto start_of = [&](size_t p, int r) {
    const size_t bytes = std::min(total - p * piece, piece), section = (bytes / ranks + 64) / 64 * 64;
    return std::min(static_cast<size_t>(r) * section, bytes);
  };
  const auto collect = [&](size_t p) {
    for (int r = 0; r < size(); ++r) {
      const size_t start = start_of(p, r), bytes = start_of(p, r + 1) - start;
      if (r != rank()) copy_bytes(bytes_of(x) + p * piece + start, segment_->result(r, step_ - 1), bytes);
    }
  };
  for (size_t p = 0; p <= pieces; ++p) {
    const auto write = [&] {
      if (p < pieces) copy_bytes(slot(rank()), bytes_of(x) + p * piece, start_of(p, size()));
    };
    const auto read = [&] {
      if (p > 0) collect(p - 1);
      if (p == pieces) return;
      const size_t start = start_of(p, rank()), bytes = start_of(p, rank() + 1) - start;
      reduce_section(call, x.dtype(), bytes_of(x) + p * piece + start, start, bytes);
    };
    step(turn, write, read);
  }
}

void SharedMemoryGroup::reduce_section(const Call& call, DType dtype, char* section, size_t start,
                                       size_t bytes) {
  std::vector<const void*> parts(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) parts[static_cast<size_t>(r)] = r == rank() ? section : slot(r) + start;
  combine(dtype, *call.op, parts, section, bytes);
  copy_bytes(segment_->result(rank(), step_), section, bytes);
}

void SharedMemoryGroup::reduce(const Call& call, const Tensor& x) {
  const bool is_root = rank() == call.root;
  std::vector<const void*> parts(static_cast<size_t>(size()));
  const auto write = [&](size_t done, size_t bytes) {
    if (!is_root) copy_bytes(slot(rank()), bytes_of(x) + done, bytes);
  };
  const auto read = [&](size_t done, size_t bytes) {
    if (!is_root) return;
    char* const own = bytes_of(x) + done;
    for (int r = 0; r < size(); ++r) parts[static_cast<size_t>(r)] = r == rank() ? own : slot(r);
    combine(x.dtype(), *call.op, parts, own, bytes);
  };
  steps(call, size_in_bytes(x), Segment::slot_bytes, write, read);
}

void SharedMemoryGroup::broadcast(const Call& call, const Tensor& x) {
  const bool is_root = rank() == call.root;
  const auto write = [&](size_t done, size_t bytes) {
    if (is_root) copy_bytes(slot(rank()), bytes_of(x) + done, bytes);
  };
  const auto read = [&](size_t done, size_t bytes) {
    if (!is_root) copy_bytes(bytes_of(x) + done, slot(call.root), bytes);
  };
  steps(call, size_in_bytes(x), Segment::slot_bytes, write, read);
}

void SharedMemoryGroup::all_gather(const Call& call, const Tensor& out, const Tensor& x) {
  gather(call, out, x);
}

// A root of -1 is every rank.
void SharedMemoryGroup::gather(const Call& call, const Tensor& out, const Tensor& x) {
  const size_t total = size_in_bytes(x);
  const bool takes = call.root < 0 || rank() == call.root;
  const auto write = [&](size_t done, size_t bytes) { copy_bytes(slot(rank()), bytes_of(x) + done, bytes); };
  const auto read = [&](size_t done, size_t bytes) {
    for (int r = 0; takes && r < size(); ++r) {
      const char* const from = r == rank() ? bytes_of(x) + done : slot(r);
      copy_bytes(bytes_of(out) + static_cast<size_t>(r) * total + done, from, bytes);
    }
  };
  steps(call, total, Segment::slot_bytes, write, read);
}

void SharedMemoryGroup::scatter(const Call& call, const Tensor& x, const Tensor& rows) {
  const size_t total = size_in_bytes(x);
  const bool is_root = rank() == call.root;
  const auto row = [&](int r) { return bytes_of(rows) + static_cast<size_t>(r) * total; };
  const auto write = [&](size_t done, size_t bytes) {
    for (int r = 0; is_root && r < size(); ++r)
      if (r != rank()) copy_bytes(slot(rank()) + static_cast<size_t>(r) * share(), row(r) + done, bytes);
  };
  const auto read = [&](size_t done, size_t bytes) {
    const char* const from =
        is_root ? row(rank()) + done : slot(call.root) + static_cast<size_t>(rank()) * share();
    copy_bytes(bytes_of(x) + done, from, bytes);
  };
  steps(call, total, share(), write, read);
}

void SharedMemoryGroup::reduce_scatter(const Call& call, const Tensor& x, const Tensor& rows) {
  const size_t total = size_in_bytes(x);
  std::vector<const void*> parts(static_cast<size_t>(size()));
  const auto row = [&](int r) { return bytes_of(rows) + static_cast<size_t>(r) * total; };
  const auto write = [&](size_t done, size_t bytes) {
    for (int r = 0; r < size(); ++r)
      if (r != rank()) copy_bytes(slot(rank()) + static_cast<size_t>(r) * share(), row(r) + done, bytes);
  };
  const auto read = [&](size_t done, size_t bytes) {
    for (int r = 0; r < size(); ++r)
      parts[static_cast<size_t>(r)] =
          r == rank() ? row(r) + done : slot(r) + static_cast<size_t>(rank()) * share();
    combine(x.dtype(), *call.op, parts, bytes_of(x) + done, bytes);
  };
  steps(call, total, share(), write, read);
}

}  // namespace tern::distributed
