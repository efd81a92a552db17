// The ranks of this machine: started, watched and ended together.
#pragma once

#include <tern/distributed/launcher/nodes.h>
#include <tern/distributed/launcher/options.h>
#include <tern/distributed/launcher/output.h>

#include <list>
#include <map>

namespace tern::distributed::launcher {

class Supervisor {
 public:
  /// `master` is where the store is that this or another ternrun serves. `nodes` is null where there is one
  /// machine only. `alive` as run_guarded gives it.
  Supervisor(const Options& options, const Endpoint& master, Nodes* nodes, int alive);

  /// Runs all ranks until they are done or one of the job fails; then ends all, with their descendants. Tells
  /// what happened on standard error.
  Verdict run(int attempt);

 private:
  struct Rank {
    int local = 0, rank = 0;
    pid_t pid = 0;
    Socket handle = Socket();  // becomes readable when it has ended
    bool lives = true, failed_first = false;
    int status = 0;
    std::deque<std::string> tail = {};
    std::list<RankStream> streams = {};
  };

  void start(int attempt);
  void start_rank(int local, int attempt);
  std::vector<std::string> environment_of(int local, int attempt) const;
  bool is_done() const;
  void turn();
  void on_signal();
  void on_verdict();
  void reap();
  std::vector<Rank*> ended_ranks();
  Rank& first_of(std::vector<Rank*> failed);
  void end_ranks(int signal);
  void end_leftovers();
  void drain();
  Verdict conclude();
  void report_lost_output(Verdict& verdict);
  std::string failure_text(const Rank& rank) const;
  void say(const std::string& text) { screen_.line(2, "ternrun: " + text); }

  const Options& options_;
  const Endpoint master_;
  Nodes* nodes_;
  const int alive_;
  Socket signals_, deaths_;
  std::string program_;
  Screen screen_;
  std::list<Rank> ranks_;
  Deadline::Clock::time_point started_;
  std::optional<Deadline> kill_;    // when SIGKILL follows
  std::optional<Verdict> verdict_;  // this machine's, or that of all
  bool told_others_ = false, killed_ = false, is_interrupted_ = false;
  std::string logs_, failure_;
  std::string left_early_;  // ranks that had ended without a failure when the first one failed
};

}  // namespace tern::distributed::launcher
