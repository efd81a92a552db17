#include <tern/distributed/launcher/processes.h>
#include <tern/distributed/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tern::distributed::launcher {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// What a process of ours needs from exec on; only calls that are safe between fork and exec.
[[noreturn]] void become(const char* path, char* const* arguments, char* const* environment, int out, int err,
                         int report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has ended already
  const int empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(path, arguments, environment);
  const int error = errno;
  if (::write(report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// By process, its parent.
std::map<pid_t, pid_t> all_processes() {
  std::map<pid_t, pid_t> parents;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    std::string line;
    std::getline(std::ifstream(entry.path() / "stat"), line);
    // "pid (name) state parent …": the name may have parentheses itself
    const size_t end = line.rfind(") ");
    if (end == line.npos || end + 4 >= line.size()) continue;
    std::from_chars(line.data() + end + 4, line.data() + line.size(), parents[pid]);
  }
  return parents;
}

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// The outer process's work while the inner one, `child`, lives. Returns the inner one's status.
int watch(pid_t child, const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGCHLD) {
      ::kill(child, signal);
      continue;
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return status;
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) {
    if (is_program(name)) return name;
    std::error_code error;
    const bool exists = std::filesystem::exists(name, error);
    throw StartError(
        exists ? "\"" + name + "\" is no program that may be run" : "there is no program \"" + name + "\"",
        exists ? 126 : 127);
  }
  const char* variable = std::getenv("PATH");
  std::string folders = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (!name.empty() && is_program(path)) return path;
    begin = end + 1;
  }
  const char* hint = is_program("./" + name) ? "; the one in this folder is ./" : "";
  throw StartError("there is no program \"" + name + "\" in PATH" + hint + (*hint ? name : ""), 127);
}

pid_t start_process(const std::string& path, const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment, int out, int err) {
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw StartError("the system gives no pipe: " + reason(errno), 126);
  const Socket read_end(ends[0]);
  Socket write_end(ends[1]);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) become(path.c_str(), argv.data(), envp.data(), out, err, write_end.get(), parent);
  if (child < 0) throw StartError("the system gives no process: " + reason(errno), 126);
  ::setpgid(child, child);
  write_end = Socket();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(read_end.get(), &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (got == 0) return child;
  ::waitpid(child, nullptr, 0);
  throw StartError("\"" + path + "\" can't be run: " + reason(error), 126);
}

std::vector<pid_t> descendants() {
  const std::map<pid_t, pid_t> parents = all_processes();
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, parent] : parents) children.emplace(parent, pid);
  std::vector<pid_t> found = {::getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

void kill_descendants() {
  const Deadline deadline(
      std::chrono::seconds(10));  // the system may not let go of one that waits for a disk
  while (!deadline.is_over()) {
    for (const pid_t pid : descendants()) ::kill(pid, SIGKILL);
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    if (reaped < 0 && errno == ECHILD) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

int run_guarded(const std::function<int(int alive)>& body) {
  std::vector<int> waited = passed_signals();
  waited.push_back(SIGCHLD);
  const sigset_t signals = set_of(waited);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw StartError("the system gives no pipe: " + reason(errno), 126);
  const pid_t child = ::fork();
  if (child < 0) throw StartError("the system gives no process: " + reason(errno), 126);
  if (child == 0) {
    ::setpgid(0, 0);  // the terminal's signals come once, through the outer process
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::close(ends[1]);
    const int status = body(ends[0]);
    std::fflush(nullptr);
    ::_exit(status);
  }
  ::setpgid(child, child);
  ::close(ends[0]);
  const int status = watch(child, signals);
  kill_descendants();
  if (WIFSIGNALED(status))
    std::fprintf(stderr, "ternrun: the process that looks after the ranks was %s; all ranks are ended\n",
                 how_it_ended(status).c_str());
  return shell_status(status);
}

const std::vector<int>& passed_signals() {
  static const std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  return signals;
}

bool is_ending(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "killed by " + signal_name(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

int shell_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace tern::distributed::launcher
