// What ternruns of several machines tell each other, over the store that node 0 serves.
//
// They meet once, and agree on who has which ranks. In each attempt the first one to know how it ends, all
// ranks of all nodes done or one failed, writes a verdict, which the others wait for beside their own work. A
// node that is silent for half a minute has failed.
#pragma once

#include <tern/distributed/launcher/options.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace tern::distributed::launcher {

/// How an attempt ended for all nodes.
struct Verdict {
  int status = 0;      ///< what ternrun ends with
  bool again = false;  ///< whether another attempt makes sense
  std::string text;    ///< the failure
};

class Nodes {
 public:
  /// Meets the other nodes. DistributedError when they don't come or don't fit together.
  Nodes(const Options& options, std::shared_ptr<Store> store);
  ~Nodes();

  int first_rank() const { return first_rank_; }
  int world_size() const { return world_size_; }

  /// Begins an attempt on all nodes together, when the ranks of the one before are gone everywhere.
  void begin(int attempt);
  /// This node's ranks are done; or one failed. Only the first failure of all nodes counts.
  void succeeded();
  void failed(const Verdict& verdict);
  /// The verdict, once it is there. `descriptor` becomes readable then.
  std::optional<Verdict> verdict() const;
  int descriptor() const { return event_.get(); }

 private:
  void watch(const std::string& key);
  void check_beats();
  void decide(const Verdict& verdict);
  void tell(const std::function<void()>& what);
  void lost(const std::exception& error);
  void end_attempt();

  const Options options_;
  std::shared_ptr<Store> store_;
  int first_rank_ = 0, world_size_ = 0;
  std::string key_;  // of this attempt
  Socket event_;
  std::vector<std::string> others_, beats_;  // by node: who it is, what it last said
  std::vector<Deadline> silent_;
  mutable std::mutex mutex_;
  std::optional<Verdict> verdict_, own_;  // of all nodes; this node's failure
  std::atomic<bool> is_over_{false};
  std::thread watcher_;
  std::vector<std::thread> tellers_;
};

}  // namespace tern::distributed::launcher
