#include <tern/distributed/mesh.h>
#include <tern/distributed/network_group.h>
#include <tern/distributed/own_address.h>
#include <tern/distributed/shared_memory_group.h>
#include <tern/distributed/single_group.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include <unistd.h>

namespace tern::distributed {
namespace {

using Clock = std::chrono::steady_clock;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string link_target(const char* path) {
  char text[256];
  const ssize_t length = ::readlink(path, text, sizeof text);
  return std::string(text, length > 0 ? static_cast<size_t>(length) : 0);
}

// Equal for ranks that can see each other's processes and reach each other over loopback.
std::string host_identity() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return first_line("/proc/sys/kernel/random/boot_id") + ' ' + name + ' ' + link_target("/proc/self/ns/pid") +
         ' ' + link_target("/proc/self/ns/net");
}

bool environment_allows_shared_memory() {
  const char* const value = std::getenv("TERN_DISTRIBUTED_SHARED_MEMORY");
  if (value == nullptr) return true;
  const std::string_view word = value;
  check(word == "0" || word == "1", "TERN_DISTRIBUTED_SHARED_MEMORY must be 0 or 1, got ", word);
  return word == "1";
}

// How the ranks of a new group find out about each other.
class Meeting {
 public:
  Meeting(std::shared_ptr<Store> store, int rank, int size, const ProcessGroupOptions& options)
      : store_(std::move(store)),
        rank_(rank),
        size_(size),
        options_(options),
        deadline_(Clock::now() + options.timeout) {}

  // What every rank says about `topic`.
  std::vector<std::string> ask_all(const std::string& topic, const std::string& answer) {
    const std::string prefix = topic + "/";
    store_->set(prefix + std::to_string(rank_), answer);
    std::vector<std::string> keys, answers;
    for (int r = 0; r < size_; ++r) keys.push_back(prefix + std::to_string(r));
    if (!store_->wait(keys, time_left())) report_missing(keys);
    for (const std::string& key : keys) answers.push_back(store_->get(key, Duration(0)));
    return answers;
  }

  // The segment, opened by all; null when one of them can't.
  std::unique_ptr<Segment> share_memory() {
    std::unique_ptr<Segment> segment;
    if (rank_ == 0) {
      try {
        segment = Segment::create(size_);
      } catch (const DistributedError&) {  // none here: then the network
      }
      store_->set("segment", segment ? segment->address() : "");
    } else {
      segment = Segment::open(store_->get("segment", time_left()), size_);
    }
    if (segment) segment->enter(rank_);
    bool all_opened = true;
    for (const std::string& answer : ask_all("opened", segment ? "yes" : "no")) all_opened &= answer == "yes";
    if (!all_opened) return nullptr;
    segment->close_file();
    return segment;
  }

  void check_alone() {
    check_as<DistributedError>(store_->add("count/" + std::to_string(rank_), 1) == 1, "group '",
                               options_.name, "': another process has joined as rank ", rank_,
                               ", or the name was used before");
  }

  Duration time_left() const {
    return std::max(Duration(1), std::chrono::ceil<Duration>(deadline_ - Clock::now()));
  }

 private:
  void report_missing(const std::vector<std::string>& keys) {
    std::string missing;
    for (int r = 0; r < size_; ++r) {
      if (store_->find(keys[static_cast<size_t>(r)])) continue;
      const int named = options_.ranks.empty() ? r : options_.ranks[static_cast<size_t>(r)];
      missing += (missing.empty() ? "" : ", ") + std::to_string(named);
    }
    check_as<DistributedError>(false, "group '", options_.name, "' of ", size_, " ranks: after ",
                               options_.timeout.count(), " ms these ranks had not come: ", missing);
  }

  std::shared_ptr<Store> store_;
  int rank_, size_;
  const ProcessGroupOptions& options_;
  Clock::time_point deadline_;
};

}  // namespace

std::shared_ptr<ProcessGroup> make_process_group(const std::string& backend, std::shared_ptr<Store> store,
                                                 int rank, int size, const ProcessGroupOptions& options) {
  check(backend != "nccl", "process group: backend nccl needs CUDA, which this build has not; there is gloo");
  check(backend == "gloo", "process group: there is no backend '", backend, "'; there is gloo");
  ProcessGroup::check_arguments(rank, size, options);
  if (size == 1) return std::make_shared<SingleGroup>(options);
  check(store != nullptr, "process group: a group of ", size, " ranks needs a store");
  const bool wants_memory = options.shared_memory && environment_allows_shared_memory();
  store = prefix_store(options.name + "/", std::move(store));
  Meeting meeting(store, rank, size, options);
  meeting.check_alone();
  const std::string host = host_identity();
  bool is_one_host = true, all_want_memory = true;
  for (const std::string& answer : meeting.ask_all("host", (wants_memory ? "1" : "0") + host)) {
    is_one_host &= answer.substr(1) == host;
    all_want_memory &= answer[0] == '1';
  }
  if (is_one_host && all_want_memory) {
    if (std::unique_ptr<Segment> segment = meeting.share_memory())
      return std::make_shared<SharedMemoryGroup>(std::move(segment), rank, size, options);
  }
  const std::string address = own_address(options.reachable_host, is_one_host);
  std::unique_ptr<Mesh> mesh =
      gloo_mesh(prefix_store("gloo/", store), rank, size, address, meeting.time_left());
  meeting.ask_all("connected", "yes");  // or one could be gone before another has come
  return std::make_shared<NetworkGroup>(std::move(mesh), std::move(store), rank, size, options);
}

}  // namespace tern::distributed
