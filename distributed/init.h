// From one process to many: init_process_group, and what the ranks of a job know about themselves.
//
//   init_process_group({.backend = "gloo"});  // started by ternrun, torchrun, srun, mpirun or Kubernetes
//   …
//   destroy_process_group();
//
// All ranks call it once, together; then collectives (distributed/collectives.h) work. At the start every
// rank learns who the others are. Ranks that don't fit together get an error that names them, all of them the
// same: a rank that two processes claim, ranks that have not come by the timeout, different world sizes or
// backends.
#pragma once

#include <tern/distributed/process_group.h>

#include <memory>
#include <string>
#include <vector>

namespace tern::distributed {

struct InitOptions {
  /// "gloo": CPU tensors. See make_process_group().
  std::string backend = "gloo";
  /// How ranks find each other: "env://" takes all from the environment (distributed/environment.h);
  /// "tcp://host:port" is where rank 0 serves, "file:///path" a file that all can reach
  /// (distributed/file_store.h): both need `rank` and `world_size`, or an environment that says them.
  std::string init_method = "env://";
  /// -1: from the environment, otherwise they win over it.
  int world_size = -1, rank = -1;
  /// How long to wait for the others, and the group's timeout afterwards.
  Duration timeout = default_timeout;
  /// Instead of init_method: a store of one's own that all ranks reach, new for each job. Needs `rank` and
  /// `world_size`.
  std::shared_ptr<Store> store = nullptr;
};

/// Makes this process a rank of the job and the default group. Error when it is one already, and
/// for options and environments that say too little or contradict each other; DistributedError when the ranks
/// don't come together. A world of one needs no store.
void init_process_group(const InitOptions& options = {});

/// Ends what init_process_group and new_group made; nothing where there is nothing. Then another
/// init_process_group may follow. Call it on all ranks, at the program's end at the latest: rank 0, if it
/// serves the store, waits here for the others, ten seconds at most.
void destroy_process_group();

/// Whether init_process_group was called, and destroy_process_group not.
bool is_initialized();

/// This rank in the default group or in `group`, there -1 if it is no member; and how many ranks there are.
/// As in PyTorch, Error before init_process_group.
int get_rank(const std::shared_ptr<ProcessGroup>& group = nullptr);
int get_world_size(const std::shared_ptr<ProcessGroup>& group = nullptr);

/// Which of the ranks on this host this is, for choosing a device: what the launcher says, otherwise counted
/// among the ranks of this host. Before init_process_group what the environment says, 0 where it says
/// nothing.
int get_local_rank();

/// The backend of the default group.
std::string get_backend();

/// How often the launcher has started the ranks again after a failure (ternrun --max-restarts); 0 the first
/// time. A program then goes on from its last checkpoint.
int get_restart_count();

struct NewGroupOptions {
  Duration timeout = Duration(0);  ///< 0: the default group's
  std::string backend = {};        ///< empty: the default group's
};

/// A group of some of the job's ranks, in the order given (all of them, if none is). All ranks of the job
/// call it, members or not, in the same order. Others than members get a group that refuses every collective,
/// whose get_rank is -1. Error for ranks that there aren't or that are given twice.
std::shared_ptr<ProcessGroup> new_group(const std::vector<int>& ranks = {},
                                        const NewGroupOptions& options = {});

}  // namespace tern::distributed
