// Starting processes so that none of them outlives the launcher, and ending them with all their descendants.
#pragma once

#include <tern/core/error.h>
#include <tern/distributed/store.h>

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tern::distributed::launcher {

/// A program that can't be started; `status` is what a shell ends with then.
class StartError : public Error {
 public:
  StartError(const std::string& text, int exit_status) : Error(text), status(exit_status) {}
  int status;
};

/// The file that the shell would run for `name`. StartError when there is none (127), or it may not run
/// (126).
std::string find_program(const std::string& name);

/// Starts the file `path` with these arguments and variables: standard input empty, output and errors to
/// these descriptors, in a process group of its own, without any blocked signal, and killed when this process
/// ends. StartError when the system refuses.
pid_t start_process(const std::string& path, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment, int out, int err);

/// Children of this process, their children, and so on.
std::vector<pid_t> descendants();

/// Kills all descendants, also those that they start meanwhile, and reaps them.
void kill_descendants();

/// Runs `body` in a process of its own and returns its status. Whatever happens to one of the two processes,
/// SIGKILL included, the other one kills all descendants. Signals that end programs, SIGUSR1 and SIGUSR2 are
/// passed on to the inner process, where they are blocked. `alive` becomes readable there when the outer one
/// has ended: then the inner one must kill its descendants and end.
int run_guarded(const std::function<int(int alive)>& body);

/// The signals that run_guarded passes on; and those of them that end the job.
const std::vector<int>& passed_signals();
bool is_ending(int signal);

/// "SIGTERM".
std::string signal_name(int signal);

/// How a process ended, from waitpid()'s status: "exit code 3", "killed by SIGKILL"; and as a shell's status.
std::string how_it_ended(int status);
int shell_status(int status);

}  // namespace tern::distributed::launcher
