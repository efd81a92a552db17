#include <tern/distributed/combine.h>
#include <tern/distributed/network_group.h>

#include <algorithm>
#include <utility>

namespace tern::distributed {
namespace {

// Up to here one exchange of everything with everybody is faster than two of sections.
constexpr size_t small = 16 * 1024;

// The most bytes that a rank reduces while the next are on their way.
constexpr size_t large_section = 1024 * 1024;

// Bytes of the section that each rank works on; at most large_section of a piece of that many for each.
size_t section_bytes(size_t total, int ranks) { return (total / static_cast<size_t>(ranks) + 64) / 64 * 64; }

}  // namespace

Parts NetworkGroup::to_all(char* data, size_t bytes) const {
  Parts parts;
  for (int i = 1; i < size(); ++i) parts.push_back({(rank() + i) % size(), data, bytes, 0});
  return parts;
}

Parts NetworkGroup::rows_of_all(char* rows, size_t row_bytes) const {
  Parts parts = to_all(rows, row_bytes);
  for (Part& part : parts) part.data += static_cast<size_t>(part.peer) * row_bytes;
  return parts;
}

Part NetworkGroup::section_of(int r, char* data, size_t total, size_t section) const {
  const size_t start = std::min(static_cast<size_t>(r) * section, total);
  return {r, data + start, std::min(section, total - start), 0};
}

Parts NetworkGroup::sections(char* data, size_t total, size_t section) const {
  Parts parts = to_all(data, 0);
  for (Part& part : parts) part = section_of(part.peer, data, total, section);
  return parts;
}

void NetworkGroup::reduce_rows(const Call& call, DType dtype, char* rows, char* own, char* out,
                               size_t bytes) const {
  std::vector<const void*> parts;
  parts.reserve(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) parts.push_back(r == rank() ? own : rows + static_cast<size_t>(r) * bytes);
  combine(dtype, *call.op, parts, out, bytes);
}

void NetworkGroup::all_reduce(const Call& call, const Tensor& x) {
  Turn turn = begin(call);
  if (size_in_bytes(x) <= small)
    reduce_directly(turn, x);
  else
    reduce_in_sections(turn, x);
}

void NetworkGroup::reduce_directly(Turn& turn, const Tensor& x) {
  const size_t total = size_in_bytes(x);
  const Tensor rows = empty({size(), static_cast<int64_t>(total)}, uint8);
  exchange(turn, to_all(bytes_of(x), total), rows_of_all(bytes_of(rows), total));
  reduce_rows(turn.call, x.dtype(), bytes_of(rows), bytes_of(x), bytes_of(x), total);
}

// Piece by piece: each rank gets its section from all, reduces it, and sends the result to all. While one
// piece is reduced, the sections of the next are on their way.
void NetworkGroup::reduce_in_sections(Turn& turn, const Tensor& x) {
  const size_t total = size_in_bytes(x), piece = large_section * static_cast<size_t>(size());
  const size_t pieces = (total + piece - 1) / piece;
  const Tensor rows = empty({2, size(), static_cast<int64_t>(large_section)}, uint8);
  std::unique_ptr<Mesh::Exchange> gathering[2], sharing[2];
  const auto rows_of = [&](size_t p) { return bytes_of(rows) + p % 2 * piece; };
  const auto all_of = [&](size_t p) {
    const size_t bytes = std::min(total - p * piece, piece);
    return sections(bytes_of(x) + p * piece, bytes, section_bytes(bytes, size()));
  };
  const auto own_of = [&](size_t p) {
    const size_t bytes = std::min(total - p * piece, piece);
    return section_of(rank(), bytes_of(x) + p * piece, bytes, section_bytes(bytes, size()));
  };
  const auto gather = [&](size_t p) {
    gathering[p % 2] = start_exchange(turn, all_of(p), rows_of_all(rows_of(p), own_of(p).bytes));
  };
  gather(0);
  for (size_t p = 0; p < pieces; ++p) {
    if (p + 1 < pieces) gather(p + 1);
    finish(turn, gathering[p % 2]);
    const Part own = own_of(p);
    reduce_rows(turn.call, x.dtype(), rows_of(p), own.data, own.data, own.bytes);
    sharing[p % 2] = start_exchange(turn, to_all(own.data, own.bytes), all_of(p));
    if (p > 0) finish(turn, sharing[(p - 1) % 2]);
  }
  finish(turn, sharing[(pieces - 1) % 2]);
}

void NetworkGroup::reduce(const Call& call, const Tensor& x) {
  Turn turn = begin(call);
  const size_t total = size_in_bytes(x);
  if (rank() != call.root) return exchange(turn, {{call.root, bytes_of(x), total, 0}}, {});
  const Tensor rows = empty({size(), static_cast<int64_t>(total)}, uint8);
  exchange(turn, {}, rows_of_all(bytes_of(rows), total));
  reduce_rows(call, x.dtype(), bytes_of(rows), bytes_of(x), bytes_of(x), total);
}

// What is large goes out in sections, which the ranks then pass on to each other.
void NetworkGroup::broadcast(const Call& call, const Tensor& x) {
  Turn turn = begin(call);
  const size_t total = size_in_bytes(x), section = section_bytes(total, size());
  const bool is_root = rank() == call.root;
  if (total <= small || size() == 2) {
    if (is_root) return exchange(turn, to_all(bytes_of(x), total), {});
    return exchange(turn, {}, {{call.root, bytes_of(x), total, 0}});
  }
  const Part own = section_of(rank(), bytes_of(x), total, section);
  if (is_root) {
    exchange(turn, sections(bytes_of(x), total, section), {});
  } else {
    exchange(turn, {}, {{call.root, own.data, own.bytes, 0}});
  }
  Parts to = to_all(own.data, own.bytes), from = sections(bytes_of(x), total, section);
  std::erase_if(to, [&](const Part& part) { return part.peer == call.root; });
  exchange(turn, std::move(to), is_root ? Parts() : std::move(from));
}

void NetworkGroup::all_gather(const Call& call, const Tensor& out, const Tensor& x) {
  Turn turn = begin(call);
  const size_t bytes = size_in_bytes(x);
  copy_bytes(bytes_of(out) + static_cast<size_t>(rank()) * bytes, bytes_of(x), bytes);
  exchange(turn, to_all(bytes_of(x), bytes), rows_of_all(bytes_of(out), bytes));
}

void NetworkGroup::gather(const Call& call, const Tensor& out, const Tensor& x) {
  Turn turn = begin(call);
  const size_t bytes = size_in_bytes(x);
  if (rank() != call.root) return exchange(turn, {{call.root, bytes_of(x), bytes, 0}}, {});
  copy_bytes(bytes_of(out) + static_cast<size_t>(rank()) * bytes, bytes_of(x), bytes);
  exchange(turn, {}, rows_of_all(bytes_of(out), bytes));
}

void NetworkGroup::scatter(const Call& call, const Tensor& x, const Tensor& rows) {
  Turn turn = begin(call);
  const size_t bytes = size_in_bytes(x);
  if (rank() != call.root) return exchange(turn, {}, {{call.root, bytes_of(x), bytes, 0}});
  copy_bytes(bytes_of(x), bytes_of(rows) + static_cast<size_t>(rank()) * bytes, bytes);
  exchange(turn, rows_of_all(bytes_of(rows), bytes), {});
}

void NetworkGroup::reduce_scatter(const Call& call, const Tensor& x, const Tensor& rows) {
  Turn turn = begin(call);
  const size_t bytes = size_in_bytes(x);
  const Tensor received = empty({size(), static_cast<int64_t>(bytes)}, uint8);
  exchange(turn, rows_of_all(bytes_of(rows), bytes), rows_of_all(bytes_of(received), bytes));
  reduce_rows(call, x.dtype(), bytes_of(received), bytes_of(rows) + static_cast<size_t>(rank()) * bytes,
              bytes_of(x), bytes);
}

void NetworkGroup::all_to_all(const Call& call, const Tensor& out, const Counts& out_counts, const Tensor& x,
                              const Counts& in_counts) {
  Turn turn = begin(call);
  const size_t element = size_of(x.dtype());
  const auto parts_of = [&](const Tensor& tensor, const Counts& counts) {
    Parts parts;
    char* data = bytes_of(tensor);
    for (int r = 0; r < size(); ++r) {
      parts.push_back({r, data, static_cast<size_t>(counts[static_cast<size_t>(r)]) * element, 0});
      data += parts.back().bytes;
    }
    return parts;
  };
  Parts to = parts_of(x, in_counts), from = parts_of(out, out_counts);
  const size_t self = static_cast<size_t>(rank());
  check_as<DistributedError>(in_counts[self] == out_counts[self], call, ": ", list_of({rank()}), " sends ",
                             in_counts[self], " elements to itself, and expects ", out_counts[self]);
  copy_bytes(from[self].data, to[self].data, to[self].bytes);
  to[self].bytes = from[self].bytes = 0;
  exchange(turn, std::move(to), std::move(from));
}

void NetworkGroup::send(const Call& call, const Tensor& x) {
  Turn turn{call, to_wire(message_of(call)), std::chrono::steady_clock::now() + timeout()};
  exchange(turn, {{call.root, bytes_of(x), size_in_bytes(x), 0}}, {});
}

void NetworkGroup::recv(const Call& call, const Tensor& x) {
  Turn turn{call, to_wire(message_of(call)), std::chrono::steady_clock::now() + timeout()};
  exchange(turn, {}, {{call.root, bytes_of(x), size_in_bytes(x), 0}});
}

}  // namespace tern::distributed
