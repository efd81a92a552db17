// Runs one test case of the test program itself in a new process: what is read once per process (the
// environment) or would disturb the other tests (limits of the system) is tested there.
#pragma once

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tern::tests {

struct ChildResult {
  int status = -1;     ///< exit status, 0 when its test passed; -S when signal S killed it
  std::string output;  ///< what doctest printed
};

/// A child that runs; finish() must be called.
struct Child {
  pid_t process = 0;
  int output = -1;  ///< the end to read from

  /// Waits for its end.
  ChildResult finish() {
    ChildResult result;
    char buffer[4096];
    for (ssize_t got; (got = ::read(output, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);)
      if (got > 0) result.output.append(buffer, static_cast<size_t>(got));
    ::close(output);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result;
  }
};

/// Starts the skipped test case `name` (no commas: doctest splits filters at them) with `settings`
/// ("VARIABLE=value") added to the environment.
inline Child start_child(const std::string& name, const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {"child", "--no-skip", "--no-colors", "--test-case=" + name};
  std::vector<char*> argv, environment;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  for (const std::string& setting : settings) environment.push_back(const_cast<char*>(setting.data()));
  for (char** old = environ; *old; ++old) {
    const std::string_view text = *old;
    bool replaced = false;
    for (const std::string& setting : settings)
      replaced |= text.starts_with(setting.substr(0, setting.find('=') + 1));
    if (!replaced) environment.push_back(*old);
  }
  environment.push_back(nullptr);

  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  Child child;
  child.output = ends[0];
  const int error =
      ::posix_spawn(&child.process, "/proc/self/exe", &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  REQUIRE(error == 0);
  return child;
}

/// Runs it to its end.
inline ChildResult run_in_child(const std::string& name, const std::vector<std::string>& settings) {
  return start_child(name, settings).finish();
}

/// Checks that the test case passed in the child, and that it ran at all.
inline void check_in_child(const std::string& name, const std::vector<std::string>& settings) {
  const ChildResult result = run_in_child(name, settings);
  INFO(result.output);
  CHECK(result.status == 0);
  CHECK(result.output.find("1 passed") != std::string::npos);
}

}  // namespace tern::tests
