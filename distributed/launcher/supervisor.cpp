#include <tern/core/file.h>
#include <tern/distributed/launcher/processes.h>
#include <tern/distributed/launcher/supervisor.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tern::distributed::launcher {
namespace {

using Settings = std::map<std::string, std::string>;

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// This process's variables with `settings` in their place; an empty one takes a variable away.
std::vector<std::string> environment_with(const Settings& settings) {
  std::vector<std::string> result;
  for (char** old = environ; *old; ++old) {
    const std::string_view text = *old;
    if (!settings.count(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : settings)
    if (!value.empty()) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

struct Pipe {
  Socket read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw StartError("the system gives no pipe", 126);
  return {Socket(ends[0]), Socket(ends[1])};
}

Socket log_file(const std::string& path) {
  Socket file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw StartError("--log-dir: cannot write \"" + path + "\"", 1);
  return file;
}

std::deque<std::string> last_lines_of(const std::string& path) {
  const FileReader file(path);
  std::string text(static_cast<size_t>(std::min<int64_t>(file.size(), 65536)), '\0');
  file.read_at(text.data(), text.size(), file.size() - static_cast<int64_t>(text.size()));
  return last_lines(text);
}

}  // namespace

Supervisor::Supervisor(const Options& options, const Endpoint& master, Nodes* nodes, int alive)
    : options_(options),
      master_(master),
      nodes_(nodes),
      alive_(alive),
      program_(find_program(options.command[0])) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : passed_signals()) sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  signals_ = Socket(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  deaths_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
}

Verdict Supervisor::run(int attempt) {
  ranks_.clear();
  kill_.reset();
  verdict_.reset();
  told_others_ = killed_ = false;
  started_ = Deadline::Clock::now();
  is_interrupted_ = false;
  try {
    start(attempt);
  } catch (const StartError& error) {
    if (nodes_) nodes_->failed({error.status, false, error.what()});
    throw;
  }
  while (!is_done()) turn();
  end_leftovers();
  drain();
  return conclude();
}

void Supervisor::start(int attempt) {
  if (!options_.log_dir.empty()) {
    logs_ = options_.log_dir + "/attempt_" + std::to_string(attempt) + "/";
    std::error_code error;
    std::filesystem::create_directories(logs_, error);
    if (error) throw StartError("--log-dir: cannot make \"" + logs_ + "\": " + error.message(), 1);
  }
  for (int local = 0; local < options_.ranks_per_node; ++local) {
    start_rank(local, attempt);
    Rank& rank = ranks_.back();
    rank.handle = Socket(static_cast<int>(::syscall(SYS_pidfd_open, rank.pid, 0)));
    epoll_event event{EPOLLIN, {.fd = rank.pid}};
    if (rank.handle) ::epoll_ctl(deaths_.get(), EPOLL_CTL_ADD, rank.handle.get(), &event);
  }
}

void Supervisor::start_rank(int local, int attempt) {
  Rank& rank = ranks_.emplace_back(Rank{local, (nodes_ ? nodes_->first_rank() : 0) + local});
  std::vector<std::string> arguments = options_.command;
  if (options_.pass_local_rank)
    arguments.insert(arguments.begin() + 1, "--local_rank=" + std::to_string(local));
  const std::vector<std::string> environment = environment_of(local, attempt);
  if (!logs_.empty()) {
    const std::string name = logs_ + "rank_" + std::to_string(rank.rank);
    const Socket out = log_file(name + ".stdout"), err = log_file(name + ".stderr");
    rank.pid = start_process(program_, arguments, environment, out.get(), err.get());
    return;
  }
  Pipe out = make_pipe(), err = make_pipe();
  rank.pid = start_process(program_, arguments, environment, out.write.get(), err.write.get());
  const std::string prefix = "[rank " + std::to_string(rank.rank) + "] ";
  rank.streams.emplace_back(std::move(out.read), 1, prefix, local == 0, screen_, rank.tail);
  rank.streams.emplace_back(std::move(err.read), 2, prefix, local == 0, screen_, rank.tail);
}

std::vector<std::string> Supervisor::environment_of(int local, int attempt) const {
  const int rank = (nodes_ ? nodes_->first_rank() : 0) + local;
  const int ranks = options_.ranks_per_node, world = nodes_ ? nodes_->world_size() : ranks;
  const auto text = [](int value) { return std::to_string(value); };
  Settings settings = {{"RANK", text(rank)},
                       {"WORLD_SIZE", text(world)},
                       {"LOCAL_RANK", text(local)},
                       {"LOCAL_WORLD_SIZE", text(ranks)},
                       {"GROUP_RANK", text(options_.node)},
                       {"GROUP_WORLD_SIZE", text(options_.nodes)},
                       {"MASTER_ADDR", master_.host},
                       {"MASTER_PORT", text(master_.port)},
                       {"TERN_LAUNCHER_STORE", to_string(master_)},
                       {"TERN_RESTART_COUNT", text(attempt)},
                       {"TORCHELASTIC_RESTART_COUNT", text(attempt)},
                       {"TORCHELASTIC_MAX_RESTARTS", text(options_.max_restarts)},
                       {"TORCHELASTIC_RUN_ID", options_.job},
                       {"TORCHELASTIC_USE_AGENT_STORE", ""}};
  if (!std::getenv("TERN_NUM_THREADS"))
    settings["TERN_NUM_THREADS"] = text(std::max(1, processors() / ranks));
  return environment_with(settings);
}

// With other machines, what happened to all is waited for.
bool Supervisor::is_done() const {
  const bool are_gone =
      std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.lives; });
  return are_gone && (!nodes_ || nodes_->verdict());
}

void Supervisor::turn() {
  std::vector<pollfd> entries = {{signals_.get(), POLLIN, 0},
                                 {alive_, POLLIN, 0},
                                 {nodes_ && !told_others_ ? nodes_->descriptor() : -1, POLLIN, 0},
                                 {screen_.has_text(1) ? 1 : -1, POLLOUT, 0},
                                 {screen_.has_text(2) ? 2 : -1, POLLOUT, 0}};
  std::vector<RankStream*> streams;
  for (Rank& rank : ranks_)
    for (RankStream& stream : rank.streams)
      if (stream.is_open() && !screen_.is_full()) {
        entries.push_back({stream.descriptor(), POLLIN, 0});
        streams.push_back(&stream);
      }
  if (::poll(entries.data(), entries.size(), kill_ && !killed_ ? kill_->poll_time() : 3600000) < 0) return;
  if (entries[1].revents) {
    kill_descendants();
    ::_exit(1);
  }
  for (size_t i = 0; i < streams.size(); ++i)
    if (entries[5 + i].revents) streams[i]->read_some();
  for (const int stream : {1, 2})
    if (entries[2 + static_cast<size_t>(stream)].revents) screen_.write_some(stream);
  if (entries[0].revents) on_signal();
  if (entries[2].revents) on_verdict();
  if (kill_ && kill_->is_over() && !killed_) {
    killed_ = true;
    for (const Rank& rank : ranks_)
      if (rank.lives) ::kill(-rank.pid, SIGKILL);
  }
}

void Supervisor::on_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      reap();
    } else if (static_cast<pid_t>(info.ssi_pid) != ::getppid()) {
      continue;  // an engine's signal to all processes of the job: the outer one has it, too, and passes it
                 // on
    } else if (!is_ending(signal)) {
      for (const Rank& rank : ranks_)
        if (rank.lives) ::kill(rank.pid, signal);
    } else if (kill_) {
      kill_.emplace(Duration(0));  // the second time
    } else {
      is_interrupted_ = true;
      verdict_ = Verdict{128 + signal, false, signal_name(signal) + " came"};
      end_ranks(signal);
    }
  }
}

// Another machine's failure, or the success of all.
void Supervisor::on_verdict() {
  told_others_ = true;
  const std::optional<Verdict> verdict = nodes_->verdict();
  if (!verdict || verdict_) return;
  verdict_ = verdict;
  if (!verdict->text.empty()) end_ranks(SIGTERM);
}

// Ranks that have ended, in that order, as far as the system tells it; orphans, too, are reaped.
std::vector<Supervisor::Rank*> Supervisor::ended_ranks() {
  std::vector<Rank*> ended;
  const auto reap_one = [&](pid_t which) {
    int status = 0;
    const pid_t pid = ::waitpid(which, &status, WNOHANG);
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.pid == pid; });
    if (pid > 0 && rank != ranks_.end() && rank->lives) {
      rank->lives = false;
      rank->status = status;
      rank->handle = Socket();
      ended.push_back(&*rank);
    }
    return pid > 0;
  };
  epoll_event event{};
  while (::epoll_wait(deaths_.get(), &event, 1, 0) > 0 && reap_one(event.data.fd)) continue;
  while (reap_one(-1)) continue;
  return ended;
}

// The one of `failed` that failed first. A process that is killed may take longer to end than others take to
// notice: an end that no failure of another rank brings about is the cause.
Supervisor::Rank& Supervisor::first_of(std::vector<Rank*> failed) {
  const auto is_cause = [](const Rank* rank) {
    constexpr int fatal[] = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
    return WIFSIGNALED(rank->status) &&
           std::find(std::begin(fatal), std::end(fatal), WTERMSIG(rank->status)) != std::end(fatal);
  };
  if (!is_cause(failed.front())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (Rank* rank : ended_ranks()) failed.push_back(rank);
  }
  const auto cause = std::find_if(failed.begin(), failed.end(), is_cause);
  return cause == failed.end() ? *failed.front() : **cause;
}

void Supervisor::reap() {
  std::vector<Rank*> failed = ended_ranks();
  std::erase_if(failed, [](const Rank* rank) { return rank->status == 0; });
  if (!verdict_ && !failed.empty()) {
    Rank& first = first_of(std::move(failed));
    first.failed_first = true;
    left_early_.clear();
    for (const Rank& rank : ranks_)
      if (!rank.lives && rank.status == 0)
        left_early_ += (left_early_.empty() ? "" : ", ") + std::to_string(rank.rank);
    failure_ = failure_text(first);
    verdict_ = Verdict{shell_status(first.status), true, failure_};
    end_ranks(SIGTERM);
  }
  const bool all_good =
      std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return !r.lives && r.status == 0; });
  if (nodes_ && all_good && !verdict_ && !told_others_) nodes_->succeeded();
}

void Supervisor::end_ranks(int signal) {
  if (nodes_ && verdict_ && !told_others_) nodes_->failed(*verdict_);
  for (const Rank& rank : ranks_) {
    if (!rank.lives) continue;
    ::kill(-rank.pid, signal);
    ::kill(-rank.pid, SIGCONT);  // one that is stopped does not notice otherwise
  }
  kill_.emplace(options_.grace);
}

// What ranks started and left behind.
void Supervisor::end_leftovers() {
  if (!kill_) kill_.emplace(options_.grace);
  for (const pid_t pid : descendants()) ::kill(pid, SIGTERM);
  while (!kill_->is_over() && !descendants().empty()) {
    pollfd entries[] = {{alive_, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    ::poll(entries, 2, std::min(5, kill_->poll_time()));
    if (entries[0].revents) break;
    if (entries[1].revents) on_signal();
  }
  kill_descendants();
}

void Supervisor::drain() {
  for (Rank& rank : ranks_)
    for (RankStream& stream : rank.streams) {
      while (stream.read_some()) continue;
      stream.finish();
    }
}

Verdict Supervisor::conclude() {
  Verdict verdict = verdict_.value_or(Verdict{});
  if (nodes_ && !is_interrupted_) verdict = nodes_->verdict().value_or(verdict);
  std::string others;
  for (Rank& rank : ranks_) {
    if (rank.failed_first) {
      say(failure_);
      if (!left_early_.empty()) say("ended before that, with exit code 0: rank " + left_early_);
      if (!logs_.empty()) {
        const std::string name = logs_ + "rank_" + std::to_string(rank.rank);
        rank.tail = last_lines_of(name + ".stderr");
        if (rank.tail.empty()) rank.tail = last_lines_of(name + ".stdout");
        say("its output is in " + name + ".stdout and .stderr");
      }
      if (!rank.tail.empty()) say("its last lines:");
      for (const std::string& line : rank.tail) screen_.line(2, "  | " + line);
    } else if (rank.status != 0) {
      others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", rank.rank, how_it_ended(rank.status));
    }
  }
  const bool is_ours =
      std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.failed_first; });
  if (!verdict.text.empty() && !is_ours) say(verdict.text);
  if (!others.empty()) say("ended after that: rank " + others);
  screen_.finish(std::chrono::seconds(60));
  report_lost_output(verdict);
  return verdict;
}

// A job whose output is lost has not succeeded; another attempt would lose it again.
void Supervisor::report_lost_output(Verdict& verdict) {
  for (const int stream : {1, 2}) {
    if (!screen_.failure(stream)) continue;
    say(fmt::format("output of the ranks is lost: writing to standard {} failed: {}",
                    stream == 1 ? "output" : "error", std::strerror(screen_.failure(stream))));
    if (verdict.status == 0) verdict.status = 1, verdict.again = false;
  }
  screen_.finish(std::chrono::seconds(1));
}

std::string Supervisor::failure_text(const Rank& rank) const {
  const std::chrono::duration<double> seconds = Deadline::Clock::now() - started_;
  return fmt::format("rank {} (local rank {} on {}, pid {}) failed first: {}, {:.1f} s after the start",
                     rank.rank, rank.local, this_process().substr(0, this_process().find(' ')), rank.pid,
                     how_it_ended(rank.status), seconds.count());
}

}  // namespace tern::distributed::launcher
