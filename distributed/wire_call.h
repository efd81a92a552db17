// A Call as bytes that ranks show each other, and what to say when they differ.
#pragma once

#include <tern/distributed/process_group.h>

#include <span>

namespace tern::distributed {

/// Equal calls are equal bytes.
struct WireCall {
  char operation[32];
  int64_t sequence;
  int64_t sizes[max_dims];
  int32_t dims, root, dtype, op;  // op -1: none

  bool operator==(const WireCall& other) const;
};

WireCall to_wire(const Call& call);

/// The error for calls[r] of rank r, when they are not all equal: "ranks of group 'x' called different
/// collectives: rank 0: all_reduce (…); rank 1: …". Empty when they are.
std::string disagreement(const ProcessGroup& group, std::span<const WireCall> calls);

/// The same for calls that were written out already: an empty text is a rank that has not shown any.
std::string disagreement(const ProcessGroup& group, std::span<const std::string> calls);

/// What both ends of a message must agree on: send and recv may have different shapes of as many elements.
Call message_of(const Call& call);
/// "message (sequence 0, float32, [6])".
std::string message_text(const WireCall& message);

/// A call with its root, as disagreement() writes it.
std::string full_text(const ProcessGroup& group, const Call& call);

}  // namespace tern::distributed
