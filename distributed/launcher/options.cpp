#include <tern/core/error.h>
#include <tern/distributed/launcher/options.h>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tern::distributed::launcher {
namespace {

constexpr const char* description =
    "Starts a program several times, as the ranks of one job, here or on several machines.\n\n"
    "  ternrun --nproc-per-node 4 ./train --epochs 10\n"
    "  ternrun --nnodes 2 --node-rank 0 --rdzv-endpoint node0:29500 --nproc-per-node 4 ./train\n\n"
    "The program finds its rank in the environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, "
    "GROUP_RANK,\n"
    "MASTER_ADDR, MASTER_PORT, TERN_RESTART_COUNT. When one rank fails, all are ended, and ternrun ends with "
    "its\n"
    "status (128 and the signal's number, if a signal ended it).";

struct Raw {
  std::string ranks_per_node = "1", endpoint, master_addr;
  int master_port = 29500;
  double grace = 10, join_timeout = 600;
  bool standalone = false;
};

// "--nproc-per-node,--nproc_per_node" and PET_NPROC_PER_NODE, as torchrun has them.
std::string both(const std::string& name) {
  std::string other = name, variable = name;
  std::replace(other.begin(), other.end(), '-', '_');
  return other == name ? "--" + name : "--" + name + ",--" + other;
}
std::string variable(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return "PET_" + name;
}

template <class T>
CLI::Option* add(CLI::App& app, const std::string& name, T& value, const std::string& text) {
  return app.add_option(both(name), value, text)->envname(variable(name));
}

CLI::Validator positive_seconds() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return !*end && value >= 0 && value <= 1e9 ? std::string()
                                                   : "needs seconds from 0 to 1e9, got " + text;
      },
      "SECONDS");
}

void add_options(CLI::App& app, Options& o, Raw& raw) {
  app.option_defaults()->always_capture_default();
  add(app, "nproc-per-node", raw.ranks_per_node, "Ranks on this machine; auto: one");
  add(app, "nnodes", o.nodes, "Machines; on each, ternrun is started")->check(CLI::Range(1, 100000));
  add(app, "node-rank", o.node, "Which of them this is, from 0")->check(CLI::Range(0, 99999));
  add(app, "rdzv-endpoint", raw.endpoint, "host:port of node 0, where all meet");
  add(app, "master-addr", raw.master_addr, "The same in two: the host");
  add(app, "master-port", raw.master_port, "and the port")->check(CLI::Range(1, 65535));
  add(app, "rdzv-id", o.job, "A name that the machines' ternruns have in common");
  app.add_flag("--standalone", raw.standalone,
               "One machine, any free port: what happens without an endpoint too");
  add(app, "max-restarts", o.max_restarts, "How often all ranks are started again when one fails")
      ->check(CLI::Range(0, 1000000));
  app.add_flag(both("pass-local-rank"), o.pass_local_rank,
               "Give the program --local_rank=N as its first argument");
  add(app, "log-dir", o.log_dir, "Files instead: DIR/attempt_A/rank_R.stdout and .stderr");
  app.add_option(both("grace-period"), raw.grace, "Seconds between SIGTERM and SIGKILL")
      ->check(positive_seconds());
  app.add_option(both("join-timeout"), raw.join_timeout, "Seconds to wait for the other machines")
      ->check(positive_seconds());
  app.prefix_command();
}

void check_usage(bool holds, const std::string& problem) {
  if (!holds) throw CLI::ValidationError(problem);
}

int ranks_per_node(const std::string& text) {
  if (text == "auto") return 1;
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  check_usage(error == std::errc() && at == end && count >= 1 && count <= 10000,
              "--nproc-per-node: needs a number from 1 to 10000, got " + text);
  return count;
}

Duration milliseconds(double seconds) { return Duration(std::llround(seconds * 1000)); }

// What options mean together.
void complete(Options& o, Raw& raw, std::vector<std::string> rest) {
  o.ranks_per_node = ranks_per_node(raw.ranks_per_node);
  o.grace = milliseconds(raw.grace);
  o.join_timeout = milliseconds(raw.join_timeout);
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  check_usage(!rest.empty(), "the program is missing");
  check_usage(rest.front().empty() || rest.front()[0] != '-', "there is no option " + rest.front());
  o.command = std::move(rest);
  const bool has_master = !raw.endpoint.empty() || !raw.master_addr.empty();
  check_usage(raw.endpoint.empty() || raw.master_addr.empty(),
              "--rdzv-endpoint and --master-addr say the same; give one");
  check_usage(!raw.standalone || (o.nodes == 1 && !has_master),
              "--standalone is for one machine, without --nnodes and --rdzv-endpoint");
  check_usage(o.node < o.nodes, "--node-rank " + std::to_string(o.node) + " must be less than --nnodes " +
                                    std::to_string(o.nodes));
  check_usage(o.nodes == 1 || has_master,
              "--nnodes " + std::to_string(o.nodes) + " needs --rdzv-endpoint host:port");
  o.master = {"127.0.0.1", 0};
  if (!raw.endpoint.empty()) o.master = parse_endpoint("--rdzv-endpoint", raw.endpoint, raw.master_port);
  if (!raw.master_addr.empty()) o.master = {raw.master_addr, raw.master_port};
  check_usage(!has_master || o.master.port > 0, "--rdzv-endpoint: the port must not be 0");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  CLI::App app(description, "ternrun");
  app.get_formatter()->column_width(36);
  Options options;
  Raw raw;
  add_options(app, options, raw);
  try {
    app.parse(argc, argv);
    complete(options, raw, app.remaining());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    std::fprintf(stderr, "ternrun: %s\nternrun --help tells more.\n", error.what());
    std::exit(2);
  } catch (const Error& error) {
    std::fprintf(stderr, "ternrun: %s\n", error.what());
    std::exit(2);
  }
  return options;
}

}  // namespace tern::distributed::launcher
