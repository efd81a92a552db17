#include <tern/distributed/combine.h>
#include <tern/distributed/network_group.h>

#include <algorithm>
#include <utility>

namespace tern::distributed {
namespace {

// The longest that a rank which saw a failure waits for the others to say where they are.
constexpr Duration grace(1000);

// Ranks that called different things use different labels, and never meet: gloo would end the process over a
// message of another size than expected.
uint64_t label_of(const WireCall& call, int phase, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](const void* data, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
  };
  mix(&call, sizeof call);
  mix(&phase, sizeof phase);
  mix(&bytes, sizeof bytes);
  return hash;
}

bool is_message(const Call& call) {
  const std::string_view operation = call.operation;
  return operation == "send" || operation == "recv";
}

}  // namespace

NetworkGroup::Turn NetworkGroup::begin(const Call& call) {
  Turn turn{call, to_wire(call), std::chrono::steady_clock::now() + timeout()};
  if (call.is_compared) compare(turn);
  return turn;
}

// All see all calls, and so find the same error.
void NetworkGroup::compare(Turn& turn) {
  std::vector<WireCall> calls(static_cast<size_t>(size()), turn.wire);
  Call question{.operation = "compare"};
  question.sequence = turn.call.sequence;
  Turn comparing{turn.call, to_wire(question), turn.deadline};
  exchange(comparing, to_all(reinterpret_cast<char*>(&turn.wire), sizeof(WireCall)),
           rows_of_all(reinterpret_cast<char*>(calls.data()), sizeof(WireCall)));
  const std::string problem = disagreement(*this, calls);
  if (!problem.empty()) throw DistributedError(problem);
}

std::unique_ptr<Mesh::Exchange> NetworkGroup::start_exchange(Turn& turn, Parts out, Parts in) {
  for (Parts* parts : {&out, &in})
    for (Part& part : *parts) part.label = label_of(turn.wire, turn.phase, part.bytes);
  ++turn.phase;
  try {
    return mesh_->start(out, in);
  } catch (const MeshError& error) {
    throw DistributedError(explain(turn.call, error));
  }
}

void NetworkGroup::finish(const Turn& turn, std::unique_ptr<Mesh::Exchange>& exchange) {
  try {
    exchange->finish(turn.deadline);
    exchange.reset();
  } catch (const MeshError& error) {
    throw DistributedError(explain(turn.call, error));
  }
}

void NetworkGroup::exchange(Turn& turn, Parts out, Parts in) {
  std::unique_ptr<Mesh::Exchange> exchange = start_exchange(turn, std::move(out), std::move(in));
  finish(turn, exchange);
}

std::string NetworkGroup::explain(const Call& call, const MeshError& error) {
  const std::string start = full_text(*this, call) + " of group '" + name() + "' failed: ";
  if (is_stopping()) return start + error.what();
  try {
    if (std::optional<std::string> first = store_->find("failure")) return *std::move(first);
    return message_for(call, start, error);
  } catch (const DistributedError&) {  // the store went as well
    return start + list_of({error.peer}) + " was waited for (" + error.what() + ")";
  }
}

// Ranks that see the failure say where they are: who doesn't, had not arrived.
std::string NetworkGroup::message_for(const Call& call, const std::string& start, const MeshError& error) {
  const std::string end = " (" + std::string(error.what()) + ")";
  if (is_message(call)) return start + list_of({error.peer}) + " had not arrived" + end;
  // Ranks may be a call apart, when one of them has finished: only those at the same call can disagree.
  const auto key = [](int r) { return "arrived/" + std::to_string(r); };
  store_->set(key(rank()), std::to_string(call.sequence) + ' ' + full_text(*this, call));
  std::vector<std::string> keys, texts, at_this_call;
  for (int r = 0; r < size(); ++r) keys.push_back(key(r));
  store_->wait(keys, std::min(grace, timeout()));
  std::vector<int> missing;
  for (int r = 0; r < size(); ++r) {
    const std::string text = store_->find(keys[static_cast<size_t>(r)]).value_or("");
    const size_t space = std::min(text.find(' '), text.size());
    const bool is_here = text.substr(0, space) == std::to_string(call.sequence);
    texts.push_back(text.substr(std::min(space + 1, text.size())));
    at_this_call.push_back(is_here ? texts.back() : "");
    if (text.empty()) missing.push_back(r);
  }
  const std::string problem = disagreement(*this, at_this_call);
  if (!problem.empty()) return problem;
  if (missing.empty()) missing.push_back(error.peer);
  return start + list_of(missing) + " had not arrived" + end;
}

std::string NetworkGroup::spread_failure(const Call&, const std::string& message) {
  mesh_->interrupt();
  try {
    return store_->set_if_absent("failure", message);
  } catch (const DistributedError&) {
    return message;
  }
}

}  // namespace tern::distributed
