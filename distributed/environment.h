// What the program that started this process says about the job: which of how many processes this is, and
// where rank 0 is. `init_process_group` with env:// reads it.
//
// These engines are understood. The first of them whose variables are there counts; in each, MASTER_ADDR and
// MASTER_PORT say where rank 0 is, and win over what is derived.
//
// 1. ternrun and torchrun: RANK, WORLD_SIZE, and, as far as they are set, LOCAL_RANK, LOCAL_WORLD_SIZE and
//    GROUP_RANK. MASTER_ADDR and MASTER_PORT are needed.
//        ternrun --nproc-per-node 4 ./train
//        TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --no-python --nproc-per-node 4 ./train
//    Also programs started by hand, with these variables set.
// 2. Kubernetes, a PyTorchJob of the Kubeflow training operator: the same variables, one process a pod,
//        command: ["./train"]
//    or several, where the operator sets PET_NPROC_PER_NODE (nprocPerNode) and RANK is the pod's:
//        command: ["ternrun", "./train"]
// 3. Open MPI: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE. On one host nothing else is needed (the
//    port comes from PMIX_NAMESPACE); on several, MASTER_ADDR:
//        mpirun -np 8 --hostfile hosts -x MASTER_ADDR=first-host ./train
// 4. Slurm: SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS), SLURM_LOCALID, SLURM_NODEID. rank 0 is on
// the
//    first host of SLURM_STEP_NODELIST (or SLURM_JOB_NODELIST, SLURM_NODELIST), its port 15000 +
//    (SLURM_JOB_ID
//    + 997 SLURM_STEP_ID) mod 17000:
//        srun --ntasks-per-node 4 ./train
//
// A variable that is empty counts as absent. Where WORLD_SIZE is set beside another engine's variables, it
// must agree with them. Every error (Error) names the variable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tern::distributed {

struct Environment {
  std::string engine;  ///< "ternrun", "torchrun", "Open MPI" or "Slurm"
  int rank = 0, world_size = 1;
  std::optional<int> local_rank, local_world_size, node_rank;  ///< where the engine says it
  std::string master_addr;
  int master_port = 0;
  std::string job;        ///< the engine's name of the run, empty where it has none
  int restart_count = 0;  ///< how often the launcher has started the ranks again
  /// Whether the launcher itself serves the store at master_addr:master_port: rank 0 does not.
  bool launcher_serves_store = false;
};

/// Looks up a variable.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// This process's own variables.
std::optional<std::string> process_variable(const std::string& name);

/// Reads what an engine says. Error when none has said anything, when something is missing, malformed or out
/// of range, or when two variables contradict each other. Without `needs_master`, where rank 0 is may be
/// unsaid.
Environment read_environment(const Variables& variables = process_variable, bool needs_master = true);

/// The rank among the processes of this host that the environment says, without anything else being looked
/// at; none where it doesn't. Error when it is malformed.
std::optional<int> local_rank_of(const Variables& variables = process_variable);

/// The same for how often the launcher has started the ranks again.
std::optional<int> restart_count_of(const Variables& variables = process_variable);

/// The first host of a list as Slurm writes it: "node01" of "node[01-03,07],gpu1". Error, with the name of
/// `variable`, when it can't be one.
std::string first_host(std::string_view variable, std::string_view list);

}  // namespace tern::distributed
