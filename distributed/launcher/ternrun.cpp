// ternrun starts a program as the ranks of a job, looks after them, and leaves nothing behind.
//
// It is two processes: the outer one has the terminal and gets the signals; the inner one starts the ranks.
// Each kills everything if the other one dies. The inner one (of node 0) also serves the store at which the
// ranks meet: its port is taken before any rank starts, so that jobs never collide, and outlives every rank,
// so that none of them ends it for the others.
#include <tern/distributed/launcher/processes.h>
#include <tern/distributed/launcher/supervisor.h>
#include <tern/distributed/store_server.h>
#include <tern/distributed/tcp_store.h>

#include <csignal>
#include <cstdio>
#include <future>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tern::distributed::launcher {
namespace {

// Waits for what another thread does while no rank is there; ends the process on a signal.
void wait_for(std::future<void>& work, int alive) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : passed_signals())
    if (is_ending(signal)) sigaddset(&set, signal);
  const Socket signals(::signalfd(-1, &set, SFD_CLOEXEC));
  while (work.wait_for(Duration(0)) != std::future_status::ready) {
    pollfd entries[] = {{signals.get(), POLLIN, 0}, {alive, POLLIN, 0}};
    if (::poll(entries, 2, 20) <= 0) continue;
    signalfd_siginfo info{};
    if (entries[0].revents && ::read(signals.get(), &info, sizeof info) != sizeof info) continue;
    ::_exit(128 + static_cast<int>(info.ssi_signo));
  }
  work.get();
}

template <class Work>
void interruptibly(int alive, const Work& work) {
  std::future<void> future = std::async(std::launch::async, work);
  wait_for(future, alive);
}

int run_attempts(const Options& o, const Endpoint& master, Nodes* nodes, int alive) {
  Supervisor supervisor(o, master, nodes, alive);
  for (int attempt = 0;; ++attempt) {
    if (nodes) interruptibly(alive, [&] { nodes->begin(attempt); });
    const Verdict verdict = supervisor.run(attempt);
    if (verdict.status == 0 || !verdict.again || attempt == o.max_restarts) return verdict.status;
    std::fprintf(stderr, "ternrun: starting all ranks again (restart %d of %d)\n", attempt + 1,
                 o.max_restarts);
  }
}

int run_job(Options o, int alive) {
  std::unique_ptr<StoreServer> server;
  if (o.job.empty()) o.job = o.nodes > 1 ? "none" : "ternrun " + this_process();
  Endpoint master = o.master;
  if (o.node == 0) {
    server = std::make_unique<StoreServer>(o.master, o.job);
    master.port = server->port();
  }
  std::unique_ptr<Nodes> nodes;
  if (o.nodes > 1)
    interruptibly(alive, [&] {
      const std::string host = o.node == 0 ? own_host(master) : master.host;
      const TcpStoreOptions options{.timeout = o.join_timeout, .job = o.job};
      nodes = std::make_unique<Nodes>(o, tcp_store(host, master.port, options));
    });
  const int status = run_attempts(o, master, nodes.get(), alive);
  nodes.reset();
  if (server) server->end(0, std::chrono::seconds(10));  // the others read the verdict
  return status;
}

// A pipe must not take the number of a standard stream that the caller has closed.
void open_standard_streams() {
  for (int number = 0; number <= 2; ++number)
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
}

int main(int argc, char** argv) {
  open_standard_streams();
  const Options options = parse_options(argc, argv);
  const auto guarded = [&](const std::function<int()>& body) {
    try {
      return body();
    } catch (const StartError& error) {
      std::fprintf(stderr, "ternrun: %s\n", error.what());
      kill_descendants();
      return error.status;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ternrun: %s\n", error.what());
      kill_descendants();
      return 1;
    }
  };
  return guarded([&] {
    find_program(options.command[0]);
    return run_guarded([&](int alive) { return guarded([&] { return run_job(options, alive); }); });
  });
}

}  // namespace
}  // namespace tern::distributed::launcher

int main(int argc, char** argv) { return tern::distributed::launcher::main(argc, argv); }
