#include <tern/core/error.h>
#include <tern/distributed/environment.h>
#include <tern/distributed/socket.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>

namespace tern::distributed {
namespace {

constexpr int most_ranks = 1 << 20;

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  std::optional<std::string> text(const std::string& name) const {
    std::optional<std::string> value = variables_(name);
    if (value && value->empty()) value.reset();
    return value;
  }

  std::optional<int64_t> number(const std::string& name, int64_t least, int64_t most) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    int64_t number = 0;
    const char* end = value->data() + value->size();
    const auto [at, error] = std::from_chars(value->data(), end, number);
    check(error == std::errc() && at == end && number >= least && number <= most, "environment: ", name,
          " must be a number from ", least, " to ", most, ", is '", *value, "'");
    return number;
  }

  std::optional<int> count(const std::string& name, int64_t least = 0, int64_t most = most_ranks) const {
    const std::optional<int64_t> value = number(name, least, most);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }

  // The one of `names` that is set, the first of them.
  std::string first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (text(name)) return name;
    return *names.begin();
  }

  int needed(const std::string& name, const std::string& because, int64_t least,
             int64_t most = most_ranks) const {
    const std::optional<int> value = count(name, least, most);
    check(value.has_value(), "environment: ", name, " is not set, but ", because, " is");
    return *value;
  }

 private:
  const Variables& variables_;
};

// `name`, if it is there, must lie below what `limit` says.
void check_below(std::string_view name, std::optional<int> value, std::string_view limit_name, int limit) {
  check(!value || *value < limit, "environment: ", name, "=", value.value_or(0), " contradicts ", limit_name,
        "=", limit, ": it must be less");
}

int port_from(std::string_view text) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<int>(15000 + hash % 17000);
}

std::optional<int> restart_count(const Reader& reader) {
  return reader.count(reader.first_of({"TERN_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"}));
}

void read_torchrun(const Reader& reader, Environment& e) {
  e.engine = reader.text("TERN_LAUNCHER_STORE") ? "ternrun" : "torchrun";
  e.world_size = reader.needed("WORLD_SIZE", "RANK", 1);
  e.rank = reader.needed("RANK", "WORLD_SIZE", 0);
  e.local_rank = reader.count("LOCAL_RANK");
  e.local_world_size = reader.count("LOCAL_WORLD_SIZE", 1);
  e.node_rank = reader.count("GROUP_RANK");
  e.job = reader.text("TORCHELASTIC_RUN_ID").value_or("");
  e.restart_count = restart_count(reader).value_or(0);
  check_below("RANK", e.rank, "WORLD_SIZE", e.world_size);
  if (e.local_world_size) {
    check_below("LOCAL_WORLD_SIZE", e.local_world_size, "WORLD_SIZE + 1", e.world_size + 1);
    check_below("LOCAL_RANK", e.local_rank, "LOCAL_WORLD_SIZE", *e.local_world_size);
  }
  check_below("LOCAL_RANK", e.local_rank, "RANK + 1", e.rank + 1);
  const bool is_auto = reader.text("PET_NPROC_PER_NODE") == "auto";
  const int per_pod = is_auto ? 1 : reader.count("PET_NPROC_PER_NODE").value_or(1);
  check(e.local_rank || per_pod == 1, "environment: PET_NPROC_PER_NODE=", per_pod,
        " processes a pod, but LOCAL_RANK is not set: RANK counts pods here. Start the program with ternrun");
}

void read_open_mpi(const Reader& reader, Environment& e) {
  const std::string prefix = "OMPI_COMM_WORLD_";
  e.engine = "Open MPI";
  e.rank = reader.needed(prefix + "RANK", prefix + "SIZE", 0);
  e.world_size = reader.needed(prefix + "SIZE", prefix + "RANK", 1);
  e.local_rank = reader.count(prefix + "LOCAL_RANK");
  e.local_world_size = reader.count(prefix + "LOCAL_SIZE", 1);
  check_below(prefix + "RANK", e.rank, prefix + "SIZE", e.world_size);
  if (e.local_world_size)
    check_below(prefix + "LOCAL_RANK", e.local_rank, prefix + "LOCAL_SIZE", *e.local_world_size);
  e.job = reader.text("PMIX_NAMESPACE").value_or("");
  if (e.local_world_size == e.world_size) e.master_addr = "127.0.0.1";
  if (!e.job.empty()) e.master_port = port_from(e.job);
}

void read_slurm(const Reader& reader, Environment& e) {
  e.engine = "Slurm";
  const std::string size = reader.first_of({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  e.rank = reader.needed("SLURM_PROCID", size, 0);
  e.world_size = reader.needed(size, "SLURM_PROCID", 1);
  e.local_rank = reader.count("SLURM_LOCALID");
  e.node_rank = reader.count("SLURM_NODEID");
  check_below("SLURM_PROCID", e.rank, size, e.world_size);
  check_below("SLURM_LOCALID", e.local_rank, "SLURM_PROCID + 1", e.rank + 1);
  const std::string list = reader.first_of({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (const auto nodes = reader.text(list)) e.master_addr = first_host(list, *nodes);
  const std::string id = reader.first_of({"SLURM_JOB_ID", "SLURM_JOBID"});
  const std::string step_id = reader.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
  const auto job = reader.number(id, 0, int64_t{1} << 40);
  const int64_t step = reader.number(step_id, 0, int64_t{1} << 32).value_or(0);
  if (!job) return;
  e.master_port = static_cast<int>(15000 + (*job + 997 * step) % 17000);
  e.job = std::to_string(*job) + "." + std::to_string(step);
}

void read_engine(const Reader& reader, Environment& e) {
  const std::optional<int> world_size = reader.count("WORLD_SIZE", 1);
  const bool has_mpi = reader.text("OMPI_COMM_WORLD_RANK") || reader.text("OMPI_COMM_WORLD_SIZE");
  const bool has_slurm = reader.text("SLURM_PROCID").has_value();
  if (reader.text("RANK") || (world_size && !has_mpi && !has_slurm)) return read_torchrun(reader, e);
  check(has_mpi || has_slurm,
        "environment: nobody says which rank this is: none of RANK, OMPI_COMM_WORLD_RANK and SLURM_PROCID is "
        "set. "
        "Start the program with ternrun (docs/distributed.md), or give rank, world_size and a tcp:// or "
        "file:// "
        "address");
  has_mpi ? read_open_mpi(reader, e) : read_slurm(reader, e);
  check(!world_size || *world_size == e.world_size, "environment: WORLD_SIZE=", world_size.value_or(0),
        " contradicts ", e.engine, "'s ", e.world_size, " processes");
}

void check_own_store(const Reader& reader) {
  const std::string shared = reader.text("TORCHELASTIC_USE_AGENT_STORE").value_or("False");
  check(shared != "True" && shared != "1", "environment: TORCHELASTIC_USE_AGENT_STORE=", shared,
        ": torchrun serves a store of PyTorch's at MASTER_PORT. Start it with "
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, "
        "or use ternrun");
}

}  // namespace

std::optional<std::string> process_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string first_host(std::string_view variable, std::string_view list) {
  std::string host;
  bool inside = false, taken = false, good = true;  // of brackets; the first number of them; the list
  for (const char c : list) {
    if (c == ',' && !inside) break;
    if (c == '[' || c == ']') {
      good = good && inside == (c == ']') && !host.empty();
      inside = c == '[';
      taken = false;
    } else if (inside && (c == '-' || c == ',')) {
      taken = true;
    } else if (!taken) {
      good = good && c > ' ';
      host += c;
    }
  }
  check(good && !inside && !host.empty() && list.find("[]") == list.npos && list.find("[-") == list.npos,
        "environment: ", variable, " must be a list of hosts, is '", list, "'");
  return host;
}

std::optional<int> local_rank_of(const Variables& variables) {
  const Reader reader(variables);
  return reader.count(reader.first_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}));
}

std::optional<int> restart_count_of(const Variables& variables) { return restart_count(Reader(variables)); }

Environment read_environment(const Variables& variables, bool needs_master) {
  const Reader reader(variables);
  Environment e;
  read_engine(reader, e);
  if (const auto address = reader.text("MASTER_ADDR")) e.master_addr = *address;
  if (const auto port = reader.count("MASTER_PORT", 1, 65535)) e.master_port = *port;
  if (e.world_size == 1 || !needs_master) return e;
  check(!e.master_addr.empty(), "environment: MASTER_ADDR, the host of rank 0, is not set, and ", e.engine,
        " does not say it");
  check(e.master_port != 0, "environment: MASTER_PORT is not set, and ", e.engine, " does not say it");
  const auto store = reader.text("TERN_LAUNCHER_STORE");
  e.launcher_serves_store = store && *store == to_string(Endpoint{e.master_addr, e.master_port});
  if (!e.launcher_serves_store) check_own_store(reader);
  return e;
}

}  // namespace tern::distributed
