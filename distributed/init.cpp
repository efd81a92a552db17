#include <tern/core/error.h>
#include <tern/distributed/environment.h>
#include <tern/distributed/file_store.h>
#include <tern/distributed/init.h>
#include <tern/distributed/rendezvous.h>
#include <tern/distributed/socket.h>
#include <tern/distributed/tcp_store.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace tern::distributed {
namespace {

constexpr const char* op = "init_process_group";

// How this process came to be a rank.
struct Place {
  Environment environment;
  std::shared_ptr<Store> store;
  std::string reachable_host;
};

// What belongs to the default group beside itself.
struct Session {
  std::string backend;
  std::shared_ptr<Store> store;
  std::string reachable_host;
  int local_rank = 0;
  int groups = 0;  // made by new_group
};

struct State {
  std::mutex mutex;
  std::shared_ptr<Session> session;
  int jobs = 0;  // that this process was a rank of, the one that runs included
};

State& state() {
  static State instance;
  return instance;
}

std::shared_ptr<Session> current_session() {
  const std::lock_guard lock(state().mutex);
  check(state().session != nullptr, "init_process_group was not called");
  return state().session;
}

// The environment, with the options' rank and world size in front of it.
Environment environment_for(const InitOptions& o, bool needs_master) {
  return read_environment(
      [&](const std::string& name) {
        if (name == "RANK" && o.rank >= 0) return std::optional(std::to_string(o.rank));
        if (name == "WORLD_SIZE" && o.world_size >= 0) return std::optional(std::to_string(o.world_size));
        return process_variable(name);
      },
      needs_master);
}

Environment of_options(const InitOptions& o) {
  Environment e;
  e.rank = o.rank;
  e.world_size = o.world_size;
  e.restart_count = get_restart_count();
  return e;
}

// A text that the ranks of one job have in common, and others not, as far as the launcher names its runs.
std::string job_name(const Environment& e) {
  return e.job + "/" + std::to_string(e.restart_count) + "/" + std::to_string(state().jobs);
}

std::shared_ptr<Store> reach_store(const Environment& e, const Endpoint& at, Duration timeout) {
  TcpStoreOptions options{!e.launcher_serves_store && e.rank == 0, e.world_size, timeout, job_name(e)};
  if (!e.launcher_serves_store) return tcp_store(at.host, at.port, options);
  options.job = e.job;
  return prefix_store("ranks/" + job_name(e) + "/", tcp_store(at.host, at.port, options));
}

// Needed are both, from the options or the environment.
Environment given_ranks(const InitOptions& o) {
  return o.rank >= 0 && o.world_size >= 0 ? of_options(o) : environment_for(o, false);
}

Place find_place(const InitOptions& o) {
  const std::string_view method = o.init_method;
  const auto after = [&](std::string_view scheme) { return std::string(method.substr(scheme.size())); };
  Place place;
  if (o.store) {
    check(o.rank >= 0 && o.world_size >= 0, op, ": a store needs .rank and .world_size");
    place = {of_options(o), o.store, ""};
  } else if (method == "env://") {
    place.environment = environment_for(o, true);
    const Environment& e = place.environment;
    if (e.world_size > 1) place.store = reach_store(e, {e.master_addr, e.master_port}, o.timeout);
    place.reachable_host = e.master_addr;
  } else if (method.starts_with("tcp://")) {
    const Endpoint at = parse_endpoint(std::string(op) + ": .init_method", after("tcp://"));
    place.environment = given_ranks(o);
    if (place.environment.world_size > 1) place.store = reach_store(place.environment, at, o.timeout);
    place.reachable_host = at.host;
  } else if (method.starts_with("file:///")) {
    place.environment = given_ranks(o);
    const Environment& e = place.environment;
    if (e.world_size > 1) place.store = file_store(after("file://"), e.world_size, {o.timeout, job_name(e)});
  } else {
    check(false, op, ": .init_method must be env://, tcp://host:port or file:///path, got '", method, "'");
  }
  return place;
}

void check_options(const InitOptions& o) {
  check(!has_default_group(), op,
        ": this rank is part of a job already; destroy_process_group() comes first");
  check(o.timeout > Duration(0), op, ": the timeout must be positive, got ", o.timeout.count(), " ms");
  check(o.world_size >= -1 && o.world_size != 0, op, ": .world_size must be positive, got ", o.world_size);
  check(o.rank >= -1 && (o.world_size < 0 || o.rank < o.world_size), op, ": .rank must be from 0 to ",
        o.world_size - 1, ", got ", o.rank);
}

// How many ranks before this one are on its host.
int count_before(const std::vector<Participant>& all, int rank) {
  const std::string& host = all[static_cast<size_t>(rank)].host;
  return static_cast<int>(std::count_if(all.begin(), all.begin() + rank,
                                        [&](const Participant& other) { return other.host == host; }));
}

// What new_group gives to ranks that aren't members. All that collectives do begins with start().
class NoMember final : public ProcessGroup {
 public:
  explicit NoMember(const ProcessGroupOptions& options)
      : ProcessGroup(-1, static_cast<int>(options.ranks.size()), options) {}

  std::string_view transport() const override { return "none"; }
  bool serves(Device) const override { return true; }
  std::vector<CallRecord> recent_calls() const override { return {}; }
  std::shared_ptr<Work> start(Call call, bool, std::function<void(const Call&)>) override { refuse(call); }
  void all_reduce(const Call& call, const Tensor&) override { refuse(call); }
  void reduce(const Call& call, const Tensor&) override { refuse(call); }
  void broadcast(const Call& call, const Tensor&) override { refuse(call); }
  void all_gather(const Call& call, const Tensor&, const Tensor&) override { refuse(call); }
  void gather(const Call& call, const Tensor&, const Tensor&) override { refuse(call); }
  void scatter(const Call& call, const Tensor&, const Tensor&) override { refuse(call); }
  void reduce_scatter(const Call& call, const Tensor&, const Tensor&) override { refuse(call); }
  void all_to_all(const Call& call, const Tensor&, const Counts&, const Tensor&, const Counts&) override {
    refuse(call);
  }
  void send(const Call& call, const Tensor&) override { refuse(call); }
  void recv(const Call& call, const Tensor&) override { refuse(call); }

 private:
  [[noreturn]] void refuse(const Call& call) const {
    detail::raise<Error>(Condition(false), call.operation, ": this rank is no member of ", name());
  }
};

void check_ranks(const std::vector<int>& ranks, int world_size) {
  std::set<int> seen;
  for (const int rank : ranks) {
    check(rank >= 0 && rank < world_size, "new_group: there is no rank ", rank, " in a world of ",
          world_size);
    check(seen.insert(rank).second, "new_group: rank ", rank, " is given twice");
  }
}

}  // namespace

void init_process_group(const InitOptions& options) {
  check_options(options);
  const Deadline deadline(options.timeout);
  Place place = find_place(options);
  const Environment& e = place.environment;
  const int rank = e.rank, size = e.world_size;
  check(rank < size, op, ": rank ", rank, " is not below the world size, ", size);
  auto session = std::make_shared<Session>(
      Session{options.backend, place.store, place.reachable_host, e.local_rank.value_or(0)});
  if (size > 1) {
    const Participant me{rank, size, options.backend, host_identity(), this_process()};
    const std::vector<Participant> all = meet(*place.store, me, deadline.left());
    if (!e.local_rank) session->local_rank = count_before(all, rank);
  }
  std::shared_ptr<ProcessGroup> group = make_process_group(
      options.backend, place.store, rank, size,
      {.timeout = options.timeout, .name = "default", .reachable_host = place.reachable_host});
  const std::lock_guard lock(state().mutex);
  state().session = session;
  ++state().jobs;
  set_default_group(std::move(group));
}

void destroy_process_group() {
  set_default_group(nullptr);  // before the store, which it may still need
  std::unique_lock lock(state().mutex);
  const std::shared_ptr<Session> session = std::move(state().session);
  lock.unlock();  // the store's end may take its time
}

bool is_initialized() { return has_default_group(); }

int get_rank(const std::shared_ptr<ProcessGroup>& group) {
  return group ? group->rank() : default_group()->rank();
}

int get_world_size(const std::shared_ptr<ProcessGroup>& group) {
  return group ? group->size() : default_group()->size();
}

int get_local_rank() {
  return has_default_group() ? current_session()->local_rank : local_rank_of().value_or(0);
}

std::string get_backend() { return current_session()->backend; }

int get_restart_count() { return restart_count_of().value_or(0); }

std::shared_ptr<ProcessGroup> new_group(const std::vector<int>& ranks, const NewGroupOptions& options) {
  const std::shared_ptr<ProcessGroup> world = default_group();
  const std::shared_ptr<Session> session = current_session();
  check_ranks(ranks, world->size());
  check(options.timeout >= Duration(0), "new_group: the timeout must not be negative, got ",
        options.timeout.count(), " ms");
  std::vector<int> members = ranks;
  if (members.empty())
    for (int rank = 0; rank < world->size(); ++rank) members.push_back(rank);
  ProcessGroupOptions group{.timeout = options.timeout > Duration(0) ? options.timeout : world->timeout(),
                            .name = "group " + std::to_string(++session->groups),
                            .ranks = members,
                            .reachable_host = session->reachable_host};
  const auto at = std::find(members.begin(), members.end(), world->rank());
  if (at == members.end()) return std::make_shared<NoMember>(group);
  return make_process_group(options.backend.empty() ? session->backend : options.backend, session->store,
                            static_cast<int>(at - members.begin()), static_cast<int>(members.size()), group);
}

}  // namespace tern::distributed
