#include <tern/distributed/environment.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <map>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

using Settings = std::map<std::string, std::string>;

Variables variables(Settings settings) {
  return [settings = std::move(settings)](const std::string& name) {
    const auto at = settings.find(name);
    return at == settings.end() ? std::nullopt : std::optional(at->second);
  };
}

Environment read(const Settings& settings) { return read_environment(variables(settings)); }

// `settings` with some changed; an empty value takes one away.
Settings with(Settings settings, const Settings& changes) {
  for (const auto& [name, value] : changes) settings[name] = value;
  return settings;
}

std::string problem(const Settings& settings) {
  return error_of([&] { read(settings); });
}

const Settings torchrun = {{"RANK", "5"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "4"},
                           {"GROUP_RANK", "1"},
                           {"MASTER_ADDR", "node-0"},
                           {"MASTER_PORT", "29500"},
                           {"TORCHELASTIC_RUN_ID", "x"},
                           {"TORCHELASTIC_RESTART_COUNT", "2"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
const Settings kubernetes = {
    {"RANK", "1"},       {"WORLD_SIZE", "2"},    {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "23456"},
    {"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}, {"PET_NPROC_PER_NODE", "1"}};
const Settings open_mpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                           {"PMIX_NAMESPACE", "1234@1"}};
const Settings slurm = {{"SLURM_PROCID", "3"},         {"SLURM_NTASKS", "16"},
                        {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"},
                        {"SLURM_NODEID", "1"},         {"SLURM_STEP_NODELIST", "gpu[03-05,9]"},
                        {"SLURM_JOB_ID", "4711"},      {"SLURM_STEP_ID", "2"}};

}  // namespace

TEST_CASE("torchrun's variables are understood") {
  const Environment e = read(torchrun);
  CHECK(e.engine == "torchrun");
  CHECK(e.rank == 5);
  CHECK(e.world_size == 8);
  CHECK(e.local_rank == 1);
  CHECK(e.local_world_size == 4);
  CHECK(e.node_rank == 1);
  CHECK(e.master_addr == "node-0");
  CHECK(e.master_port == 29500);
  CHECK(e.job == "x");
  CHECK(e.restart_count == 2);
  CHECK(!e.launcher_serves_store);
  const Environment ours = read(with(torchrun, {{"TERN_LAUNCHER_STORE", "node-0:29500"}}));
  CHECK(ours.engine == "ternrun");
  CHECK(ours.launcher_serves_store);
  // Another launcher inside, with a master of its own.
  CHECK(!read(with(torchrun, {{"TERN_LAUNCHER_STORE", "node-0:1"}})).launcher_serves_store);
}

TEST_CASE("a store of PyTorch's at the master's port is an error that says what to do") {
  const std::string text = problem(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
  CHECK(contains(text, "TORCHELASTIC_USE_AGENT_STORE=True"));
  CHECK(contains(text, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"));
}

TEST_CASE("a PyTorchJob's variables are understood") {
  const Environment e = read(kubernetes);
  CHECK(e.rank == 1);
  CHECK(e.world_size == 2);
  CHECK(!e.local_rank);
  CHECK(e.master_addr == "job-master-0");
  CHECK(contains(problem(with(kubernetes, {{"PET_NPROC_PER_NODE", "2"}, {"WORLD_SIZE", "4"}})),
                 "PET_NPROC_PER_NODE=2 processes a pod, but LOCAL_RANK is not set"));
}

TEST_CASE("Open MPI's variables are understood") {
  const Environment e = read(open_mpi);
  CHECK(e.engine == "Open MPI");
  CHECK(e.rank == 2);
  CHECK(e.world_size == 4);
  CHECK(e.local_rank == 2);
  CHECK(e.master_addr == "127.0.0.1");
  CHECK(e.master_port >= 15000);
  CHECK(e.master_port < 32000);
  CHECK(e.master_port != read(with(open_mpi, {{"PMIX_NAMESPACE", "1235@1"}})).master_port);
  const Settings several = with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  CHECK(contains(problem(several),
                 "MASTER_ADDR, the host of rank 0, is not set, and Open MPI does not say it"));
  CHECK(read(with(several, {{"MASTER_ADDR", "head"}})).master_addr == "head");
  CHECK(contains(problem(with(open_mpi, {{"PMIX_NAMESPACE", ""}})), "MASTER_PORT is not set"));
}

TEST_CASE("Slurm's variables are understood") {
  const Environment e = read(slurm);
  CHECK(e.engine == "Slurm");
  CHECK(e.rank == 3);
  CHECK(e.world_size == 8);
  CHECK(e.local_rank == 1);
  CHECK(e.node_rank == 1);
  CHECK(e.master_addr == "gpu03");
  CHECK(e.master_port == 15000 + (4711 + 2 * 997) % 17000);
  CHECK(e.job == "4711.2");
  CHECK(read(with(slurm, {{"SLURM_STEP_NUM_TASKS", ""}})).world_size == 16);
  CHECK(read(with(slurm, {{"MASTER_PORT", "7"}, {"MASTER_ADDR", "a"}})).master_port == 7);
  CHECK(contains(problem(with(slurm, {{"SLURM_JOB_ID", ""}})), "MASTER_PORT is not set, and Slurm"));
}

TEST_CASE("the first host of Slurm's lists") {
  const Settings first = {{"a", "a"},
                          {"a,b", "a"},
                          {"n[1-3]", "n1"},
                          {"n[07,09-12],m1", "n07"},
                          {"r[1-2]n[3,4]-ib", "r1n3-ib"},
                          {"gpu-a.b.c,x", "gpu-a.b.c"}};
  for (const auto& entry : first) {
    CAPTURE(entry.first);
    CHECK(first_host("LIST", entry.first) == entry.second);
  }
  for (const char* bad : {"", ",a", "a[", "a[1", "a]", "[1]", "a[1[2]]", "a[]", "a[-3]", "a b"}) {
    CAPTURE(bad);
    CHECK(contains(error_of([&] { first_host("LIST", bad); }), "LIST must be a list of hosts"));
  }
}

TEST_CASE("engines have an order, and must agree") {
  // Several processes a node, started by ternrun inside srun or mpirun.
  Settings both = with(slurm, torchrun);
  CHECK(read(both).engine == "torchrun");
  CHECK(read(both).rank == 5);
  both = with(slurm, open_mpi);  // mpirun inside a Slurm job: Slurm's variables are those of its daemon
  CHECK(read(both).engine == "Open MPI");
  CHECK(read(with(slurm, {{"WORLD_SIZE", "8"}})).engine == "Slurm");
  CHECK(
      contains(problem(with(slurm, {{"WORLD_SIZE", "4"}})), "WORLD_SIZE=4 contradicts Slurm's 8 processes"));
  CHECK(contains(problem(with(open_mpi, {{"WORLD_SIZE", "5"}})), "WORLD_SIZE=5 contradicts Open MPI's 4"));
}

TEST_CASE("what is missing is named") {
  CHECK(contains(problem({}), "none of RANK, OMPI_COMM_WORLD_RANK and SLURM_PROCID is set"));
  CHECK(contains(problem({{"RANK", ""}}), "none of RANK"));
  CHECK(contains(problem(with(torchrun, {{"RANK", ""}})), "RANK is not set, but WORLD_SIZE is"));
  CHECK(contains(problem(with(torchrun, {{"WORLD_SIZE", ""}})), "WORLD_SIZE is not set, but RANK is"));
  CHECK(contains(problem(with(torchrun, {{"MASTER_ADDR", ""}})),
                 "MASTER_ADDR, the host of rank 0, is not set"));
  CHECK(contains(problem(with(torchrun, {{"MASTER_PORT", ""}})), "MASTER_PORT is not set"));
  CHECK(contains(problem(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", ""}})), "OMPI_COMM_WORLD_RANK is not set"));
  CHECK(contains(problem({{"SLURM_PROCID", "0"}}), "SLURM_STEP_NUM_TASKS is not set, but SLURM_PROCID is"));
  // Nobody to look for.
  CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).world_size == 1);
}

TEST_CASE("what is malformed or out of range is named") {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"})
    for (const char* value : {"-1", "x", "1x", " 1", "1.0", "99999999999999999999", "4294967297"}) {
      CAPTURE(name);
      CHECK(contains(problem(with(torchrun, {{name, value}})),
                     std::string("environment: ") + name + " must be a number from"));
    }
  CHECK(contains(problem(with(torchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE must be a number from 1"));
  CHECK(contains(problem(with(torchrun, {{"MASTER_PORT", "0"}})),
                 "MASTER_PORT must be a number from 1 to 65535"));
  CHECK(contains(problem(with(torchrun, {{"RANK", "8"}})), "RANK=8 contradicts WORLD_SIZE=8"));
  CHECK(contains(problem(with(torchrun, {{"LOCAL_RANK", "4"}})),
                 "LOCAL_RANK=4 contradicts LOCAL_WORLD_SIZE=4"));
  CHECK(contains(problem(with(torchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE=9 contradicts"));
  CHECK(contains(problem(with(torchrun, {{"RANK", "0"}})), "LOCAL_RANK=1 contradicts RANK + 1=1"));
  CHECK(
      contains(problem(with(slurm, {{"SLURM_STEP_NODELIST", "n["}})), "SLURM_STEP_NODELIST must be a list"));
  CHECK(contains(problem(with(slurm, {{"SLURM_PROCID", "8"}})),
                 "SLURM_PROCID=8 contradicts SLURM_STEP_NUM_TASKS=8"));
}

TEST_CASE("the local rank is known before anything else") {
  CHECK(local_rank_of(variables(torchrun)) == 1);
  CHECK(local_rank_of(variables(open_mpi)) == 2);
  CHECK(local_rank_of(variables(slurm)) == 1);
  CHECK(!local_rank_of(variables(kubernetes)));
  CHECK_THROWS_AS(local_rank_of(variables({{"LOCAL_RANK", "x"}})), Error);
}
