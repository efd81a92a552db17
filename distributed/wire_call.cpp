#include <tern/distributed/wire_call.h>

#include <cstring>
#include <sstream>
#include <type_traits>

namespace tern::distributed {

static_assert(std::has_unique_object_representations_v<WireCall>, "equal calls must be equal bytes");

namespace {

// Lives no longer than `wire`, which holds the operation's name.
Call from_wire(const WireCall& wire) {
  Call call{.operation = wire.operation, .dtype = static_cast<DType>(wire.dtype)};
  call.sequence = wire.sequence;
  call.root = wire.root;
  if (wire.op >= 0) call.op = static_cast<ReduceOp>(wire.op);
  for (int d = 0; d < wire.dims; ++d) call.shape.push_back(wire.sizes[d]);
  return call;
}

}  // namespace

bool WireCall::operator==(const WireCall& other) const {
  return std::memcmp(this, &other, sizeof other) == 0;
}

WireCall to_wire(const Call& call) {
  WireCall wire{};
  std::strncpy(wire.operation, call.operation, sizeof wire.operation - 1);
  wire.sequence = call.sequence;
  wire.dims = call.shape.dim();
  for (int d = 0; d < wire.dims; ++d) wire.sizes[d] = call.shape[d];
  wire.root = call.root;
  wire.dtype = static_cast<int32_t>(call.dtype);
  wire.op = call.op ? static_cast<int32_t>(*call.op) : -1;
  return wire;
}

std::string full_text(const ProcessGroup& group, const Call& call) {
  std::ostringstream text;
  text << call;
  if (call.root >= 0) text << " with rank " << group.ranks()[static_cast<size_t>(call.root)];
  return text.str();
}

Call message_of(const Call& call) {
  return {.operation = "message",
          .dtype = call.dtype,
          .shape = {call.shape.numel()},
          .op = std::nullopt,
          .root = -1,
          .is_compared = false,
          .sequence = call.sequence};
}

std::string message_text(const WireCall& message) {
  std::ostringstream text;
  text << from_wire(message);
  return text.str();
}

std::string disagreement(const ProcessGroup& group, std::span<const WireCall> calls) {
  bool all_equal = true;
  for (const WireCall& wire : calls) all_equal &= wire == calls.front();
  if (all_equal) return {};
  std::vector<std::string> texts;
  for (const WireCall& wire : calls) texts.push_back(full_text(group, from_wire(wire)));
  return disagreement(group, texts);
}

std::string disagreement(const ProcessGroup& group, std::span<const std::string> calls) {
  std::string list;
  const std::string* first = nullptr;
  bool all_equal = true;
  for (size_t r = 0; r < calls.size(); ++r) {
    const bool has_come = !calls[r].empty();
    if (has_come && first == nullptr) first = &calls[r];
    if (has_come) all_equal &= calls[r] == *first;
    if (r > 0) list += "; ";
    list += "rank " + std::to_string(group.ranks()[r]) + ": " + (has_come ? calls[r] : "nothing");
  }
  if (all_equal) return {};
  return "ranks of group '" + group.name() + "' called different collectives: " + list;
}

}  // namespace tern::distributed
