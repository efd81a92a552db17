// ternrun's command line.
#pragma once

#include <tern/distributed/socket.h>

#include <string>
#include <vector>

namespace tern::distributed::launcher {

struct Options {
  int ranks_per_node = 1, nodes = 1, node = 0, max_restarts = 0;
  Endpoint master;      ///< where node 0 serves; port 0 when it may choose
  std::string job;      ///< equal on all nodes
  std::string log_dir;  ///< empty: output goes on, line by line
  bool pass_local_rank = false;
  Duration grace{}, join_timeout{};
  std::vector<std::string> command;  ///< the program and its arguments
};

/// Ends the process after --help (status 0) and after wrong usage (status 2, what is wrong on standard
/// error).
Options parse_options(int argc, char** argv);

}  // namespace tern::distributed::launcher
