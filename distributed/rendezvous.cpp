#include <tern/core/error.h>
#include <tern/distributed/rendezvous.h>
#include <tern/distributed/socket.h>
#include <tern/distributed/store_wire.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace tern::distributed {
namespace {

enum class Kind : char { participant = 'P' };

std::string rank_key(int rank) { return "rank/" + std::to_string(rank); }

std::string encoded(const Participant& p) {
  static std::atomic<int64_t> count{0};  // ranks may be threads of one process
  return wire::Message(Kind::participant)
      .number(p.rank)
      .number(p.world_size)
      .text(p.backend)
      .text(p.host)
      .text(p.process)
      .number(++count)
      .bytes();
}

// Takes the first of several participants from the front of `text`.
Participant decoded(std::string_view& text) {
  wire::Fields fields(text.substr(std::min(text.size(), wire::length_bytes + 1)));
  Participant p;
  p.rank = static_cast<int>(fields.number());
  p.world_size = static_cast<int>(fields.number());
  p.backend = fields.text();
  p.host = fields.text();
  p.process = fields.text();
  check_as<DistributedError>(fields.is_good(), "rendezvous: the store holds something else than ranks");
  const size_t length = wire::length_bytes + static_cast<size_t>(wire::read_number(text, wire::length_bytes));
  text.remove_prefix(std::min(text.size(), length));
  return p;
}
Participant only_one(std::string_view text) { return decoded(text); }

// The verdict: '+' and all participants, when all came and fit together; otherwise why not. The first one to
// know writes it.
constexpr const char* verdict_key = "verdict";

std::string all_participants(Store& store, int world_size) {
  std::string all = "+";
  for (int rank = 0; rank < world_size; ++rank) all += store.find(rank_key(rank)).value_or("");
  return all;
}

[[noreturn]] void give_up(const std::string& verdict) {
  detail::raise<DistributedError>(Condition(false), "init_process_group: ", verdict);
}

// Tells the others, too. They are already on their way if the job had started without this rank.
[[noreturn]] void give_up(Store& store, const std::string& verdict) {
  store.set_if_absent(verdict_key, verdict);
  give_up(verdict);
}

std::string described(const Participant& p) { return "rank " + std::to_string(p.rank) + " in " + p.process; }

// The others are compared with the first one that came.
void compare(Store& store, const Participant& me, const Participant& first) {
  std::ostringstream problem;
  if (first.world_size != me.world_size)
    problem << "world sizes differ: " << first.world_size << " for " << described(first) << ", "
            << me.world_size << " for " << described(me);
  else if (first.backend != me.backend)
    problem << "backends differ: " << first.backend << " for " << described(first) << ", " << me.backend
            << " for " << described(me);
  if (!problem.str().empty()) give_up(store, problem.str());
}

// The verdict at the timeout. All may have come by then although nobody counted so: a rank that was stopped
// on its way is for the group to find.
std::string late_verdict(Store& store, const Participant& me, Duration timeout) {
  constexpr int most_named = 16;
  std::ostringstream names, here;
  int missing = 0;
  for (int rank = 0; rank < me.world_size; ++rank) {
    if (store.find(rank_key(rank))) continue;
    if (++missing <= most_named) names << (missing == 1 ? "" : ", ") << rank;
  }
  if (missing == 0) return all_participants(store, me.world_size);
  if (missing > most_named) names << " and " << missing - most_named << " more";
  here << "missing " << (missing == 1 ? "rank " : "ranks ") << names.str() << ": of " << me.world_size
       << " ranks " << me.world_size - missing << " came within " << timeout.count() << " ms";
  return here.str();
}

}  // namespace

std::string host_identity() {
  // Containers of one machine have the same kernel, but not the same memory or name.
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::string(name) + " " + boot;
}

std::vector<Participant> meet(Store& store, const Participant& me, Duration timeout) {
  const Deadline deadline(timeout);
  const std::string mine = encoded(me), first = store.set_if_absent("first", mine);
  compare(store, me, only_one(first));
  const std::string owner = store.set_if_absent(rank_key(me.rank), mine);
  if (owner != mine)
    give_up(store, "rank " + std::to_string(me.rank) + " is there twice: in " + only_one(owner).process +
                       " and in " + me.process);
  if (store.add("count", 1) == me.world_size)
    store.set_if_absent(verdict_key, all_participants(store, me.world_size));
  const bool is_there = store.wait({verdict_key}, deadline.left());
  const std::string verdict = is_there ? store.find(verdict_key).value_or("")
                                       : store.set_if_absent(verdict_key, late_verdict(store, me, timeout));
  if (!verdict.starts_with('+')) give_up(verdict);
  std::vector<Participant> all;
  std::string_view rest = std::string_view(verdict).substr(1);
  while (!rest.empty()) all.push_back(decoded(rest));
  return all;
}

}  // namespace tern::distributed
