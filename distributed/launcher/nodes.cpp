#include <tern/core/error.h>
#include <tern/distributed/launcher/nodes.h>
#include <tern/distributed/store_wire.h>

#include <sstream>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tern::distributed::launcher {
namespace {

constexpr Duration beat_time(500), silence(30000);

enum class Kind : char { verdict = 'V' };

std::string encoded(const Verdict& v) {
  return wire::Message(Kind::verdict).number(v.status).number(v.again).text(v.text).bytes();
}

Verdict decoded(const std::string& bytes) {
  wire::Fields fields(std::string_view(bytes).substr(std::min(bytes.size(), wire::length_bytes + 1)));
  Verdict v;
  v.status = static_cast<int>(fields.number());
  v.again = fields.number() != 0;
  v.text = fields.text();
  return v;
}

std::string node_key(int node) { return "node/" + std::to_string(node); }

// "2 this-host (pid 3)": how many ranks, and who.
std::string introduction(const Options& o) { return std::to_string(o.ranks_per_node) + " " + this_process(); }

std::string missing_nodes(Store& store, const Options& o) {
  std::ostringstream text;
  int missing = 0;
  for (int node = 0; node < o.nodes; ++node)
    if (!store.find(node_key(node))) text << (missing++ ? ", " : "") << node;
  return (missing == 1 ? "node " : "nodes ") + text.str();
}

}  // namespace

Nodes::Nodes(const Options& options, std::shared_ptr<Store> store)
    : options_(options), store_(std::move(store)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const Options& o = options_;
  const std::string plan =
      "--nnodes " + std::to_string(o.nodes) + " --max-restarts " + std::to_string(o.max_restarts);
  if (o.node == 0) store_->set("plan", plan);
  const std::string first = store_->get("plan", o.join_timeout);
  check_as<DistributedError>(first == plan, "the nodes differ: this one says ", plan, ", node 0 ", first);
  const std::string me = introduction(o), owner = store_->set_if_absent(node_key(o.node), me);
  check_as<DistributedError>(owner == me, "--node-rank ", o.node,
                             " is there twice: ", owner.substr(owner.find(' ') + 1), " and ", this_process());
  std::vector<std::string> keys;
  keys.reserve(static_cast<size_t>(o.nodes));
  for (int node = 0; node < o.nodes; ++node) keys.push_back(node_key(node));
  check_as<DistributedError>(store_->wait(keys, o.join_timeout), missing_nodes(*store_, o),
                             " did not come within ", o.join_timeout.count(), " ms");
  for (int node = 0; node < o.nodes; ++node) {
    const std::string other = store_->find(keys[static_cast<size_t>(node)]).value_or("0 ");
    if (node == o.node) first_rank_ = world_size_;
    world_size_ += std::stoi(other);
    others_.push_back(other.substr(other.find(' ') + 1));
  }
}

Nodes::~Nodes() { end_attempt(); }

void Nodes::begin(int attempt) {
  end_attempt();
  key_ = "attempt/" + std::to_string(attempt) + "/";
  if (store_->add(key_ + "ready", 1) == options_.nodes) store_->set(key_ + "go", "");
  store_->get(key_ + "go", options_.grace + silence);
  beats_.assign(others_.size(), "");
  silent_.assign(others_.size(), Deadline(silence));
  verdict_.reset();
  own_.reset();
  uint64_t count = 0;
  if (::read(event_.get(), &count, sizeof count) < 0) count = 0;  // nothing was there
  is_over_ = false;
  watcher_ = std::thread([this] { watch(key_ + "verdict"); });
}

void Nodes::succeeded() {
  tell([this] {
    const bool are_all = store_->add(key_ + "done", 1) == options_.nodes;
    if (are_all) store_->set_if_absent(key_ + "verdict", encoded(Verdict{}));
  });
}

void Nodes::failed(const Verdict& verdict) {
  {
    const std::lock_guard lock(mutex_);
    own_ = verdict;
  }
  tell([this, verdict] { store_->set_if_absent(key_ + "verdict", encoded(verdict)); });
}

// On a thread of its own: half a minute may pass until a cut link is noticed, and ranks need care meanwhile.
void Nodes::tell(const std::function<void()>& what) {
  tellers_.emplace_back([this, what] {
    try {
      what();
    } catch (const std::exception& error) {
      lost(error);
    }
  });
}

void Nodes::lost(const std::exception& error) {
  Verdict verdict{1, false, "lost node 0 (" + others_[0] + "): " + error.what()};
  {
    const std::lock_guard lock(mutex_);
    if (own_) verdict = *own_;
  }
  verdict.again = false;
  decide(verdict);
}

void Nodes::end_attempt() {
  is_over_ = true;
  for (std::thread& thread : tellers_) thread.join();
  tellers_.clear();
  if (watcher_.joinable()) watcher_.join();
}

std::optional<Verdict> Nodes::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_;
}

void Nodes::decide(const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  if (!verdict_) verdict_ = verdict;
  const uint64_t one = 1;
  if (::write(event_.get(), &one, sizeof one) < 0) return;  // a full counter is readable, too
}

// The watcher's thread.
void Nodes::watch(const std::string& key) {
  try {
    while (!is_over_) {
      store_->add("beat/" + std::to_string(options_.node), 1);
      if (store_->wait({key}, beat_time)) return decide(decoded(store_->get(key, beat_time)));
      if (options_.node == 0) check_beats();
    }
  } catch (const std::exception& error) {
    lost(error);
  }
}

void Nodes::check_beats() {
  for (size_t node = 1; node < others_.size(); ++node) {
    const std::string beat = store_->find("beat/" + std::to_string(node)).value_or("");
    if (beat != beats_[node]) silent_[node] = Deadline(silence);
    beats_[node] = beat;
    if (silent_[node].is_over())
      failed({1, false, "node " + std::to_string(node) + " (" + others_[node] + ") is silent"});
  }
}

}  // namespace tern::distributed::launcher
