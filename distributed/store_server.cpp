#include <tern/core/error.h>
#include <tern/distributed/store_server.h>
#include <tern/distributed/store_wire.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <list>
#include <set>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tern::distributed {
namespace {

using wire::Fields;
using wire::Reply;
using wire::Request;
using Answer = wire::Message<Reply>;

constexpr Duration hello_time = std::chrono::seconds(10);
constexpr size_t unread_limit = size_t{1} << 20;  // replies that a client has not read

struct Connection {
  explicit Connection(Socket s) : socket(std::move(s)) {}

  Socket socket;
  std::string in, out;
  bool said_hello = false, is_open = true;
  Deadline hello{hello_time};
  std::vector<std::string> keys;  // it waits for
  std::optional<Deadline> wait;
};

bool read_some(Connection& client) {
  char buffer[65536];
  const ssize_t got = ::recv(client.socket.get(), buffer, sizeof buffer, 0);
  if (got > 0) client.in.append(buffer, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool write_some(Connection& client) {
  const ssize_t sent = ::send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent > 0) client.out.erase(0, static_cast<size_t>(sent));
  return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace

class StoreServer::Loop {
 public:
  Loop(const Endpoint& at, std::string job)
      : job_(std::move(job)),
        listener_(listen_at(at)),
        port_(port_of(listener_)),
        wake_(::eventfd(0, EFD_CLOEXEC)) {
    check_as<DistributedError>(static_cast<bool>(wake_), "store: the system gave no event descriptor");
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  int port() const { return port_; }

  void end(int64_t clients, Duration grace) {
    if (!thread_.joinable()) return;
    awaited_ = clients;
    grace_ms_ = std::max<int64_t>(0, grace.count());
    is_ending_ = true;
    const uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) < 0) {
    }  // only a full counter refuses, and that wakes too
    thread_.join();
  }

 private:
  void run() {
    std::optional<Deadline> end;
    while (true) {
      if (is_ending_ && !end) {
        end.emplace(Duration(grace_ms_));
        uint64_t count = 0;
        if (::read(wake_.get(), &count, sizeof count) < 0) {
        }
      }
      const bool all_came = static_cast<int64_t>(processes_.size()) >= awaited_;
      if (end && all_came) listener_ = Socket();
      const bool are_gone = std::none_of(connections_.begin(), connections_.end(),
                                         [](const Connection& client) { return client.said_hello; });
      if (end && ((all_came && are_gone) || end->is_over())) break;
      turn(end);
    }
    connections_.clear();
  }

  // Waits for something to do, and does it.
  void turn(const std::optional<Deadline>& end) {
    std::vector<pollfd> entries{{end ? -1 : wake_.get(), POLLIN, 0},
                                {may_accept() ? listener_.get() : -1, POLLIN, 0}};
    int timeout = end ? end->poll_time() : 3600000;
    for (const Connection& client : connections_) {
      entries.push_back(
          {client.socket.get(), static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (client.out.size() > unread_limit) entries.back().events = POLLOUT;
      if (!client.said_hello) timeout = std::min(timeout, client.hello.poll_time());
      if (client.wait) timeout = std::min(timeout, client.wait->poll_time());
    }
    if (!may_accept()) timeout = std::min(timeout, accept_again_.poll_time());
    if (::poll(entries.data(), entries.size(), timeout) < 0) return;
    auto entry = entries.begin() + 2;
    for (Connection& client : connections_) serve(client, (entry++)->revents);
    std::erase_if(connections_, [](const Connection& client) { return !client.is_open; });
    if (entries[1].revents) accept_one();
  }

  bool may_accept() const { return listener_ && accept_again_.is_over(); }

  void accept_one() {
    Socket socket = accept_at(listener_);
    if (socket) return void(connections_.emplace_back(std::move(socket)));
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      accept_again_ = Deadline(std::chrono::milliseconds(100));  // out of descriptors: not in a busy loop
  }

  void serve(Connection& client, short events) {
    if (events & (POLLIN | POLLHUP | POLLERR)) client.is_open = read_some(client);
    while (client.is_open && !client.wait && client.out.size() <= unread_limit && take_message(client))
      continue;
    if (client.wait) finish_wait(client);
    if (client.in.size() > 2 * wire::longest_message) client.is_open = false;  // it sends without waiting
    if (client.is_open && !client.out.empty()) client.is_open = write_some(client);
    if (!client.said_hello && client.hello.is_over()) client.is_open = false;
  }

  // Serves the first message that came, if it is whole.
  bool take_message(Connection& client) {
    if (client.in.size() < wire::length_bytes) return false;
    const auto length = static_cast<size_t>(wire::read_number(client.in, wire::length_bytes));
    if (length < 1 || length > (client.said_hello ? wire::longest_message : wire::longest_hello))
      return client.is_open = false;
    if (client.in.size() - wire::length_bytes < length) return false;
    const std::string message = client.in.substr(wire::length_bytes, length);
    client.in.erase(0, wire::length_bytes + length);
    const auto request = static_cast<Request>(message[0]);
    Fields fields(std::string_view(message).substr(1));
    if (!client.said_hello) return client.is_open = request == Request::hello && greet(client, fields);
    client.is_open = answer(client, request, fields);
    return client.is_open;
  }

  bool greet(Connection& client, Fields& fields) {
    const std::string_view magic = fields.text(), job = fields.text();
    const int64_t process = fields.number();
    if (!fields.is_at_end() || magic != wire::magic) return false;
    const bool is_ours = job == job_;
    client.out += Answer(is_ours ? Reply::done : Reply::other_job).text(this_process()).text(job_).bytes();
    client.said_hello = is_ours;  // the others have to go before long
    if (is_ours) processes_.insert(process);
    return true;
  }

  bool answer(Connection& client, Request request, Fields& fields) {
    if (request == Request::wait) return start_wait(client, fields);
    const std::string key(fields.text());
    Answer reply(Reply::done);
    if (request == Request::set) {
      values_->set(key, fields.text());
    } else if (request == Request::find) {
      const std::optional<std::string> value = values_->find(key);
      value ? reply.text(*value) : reply = Answer(Reply::nothing);
    } else if (request == Request::add) {
      try {
        reply.number(values_->add(key, fields.number()));
      } catch (const DistributedError& error) {
        reply = Answer(Reply::failed).text(error.what());
      }
    } else if (request == Request::claim) {
      reply.text(values_->set_if_absent(key, fields.text()));
    } else if (request == Request::erase) {
      reply.number(values_->erase(key));
    } else {
      return false;
    }
    client.out += reply.bytes();
    if (request != Request::find && request != Request::erase)
      for (Connection& other : connections_)
        if (other.wait) finish_wait(other);
    return fields.is_at_end();
  }

  bool start_wait(Connection& client, Fields& fields) {
    const Duration timeout(std::max<int64_t>(0, fields.number()));
    client.keys.clear();
    for (int64_t left = fields.number(); left > 0 && fields.is_good(); --left)
      client.keys.emplace_back(fields.text());
    client.wait.emplace(timeout);
    return fields.is_at_end();
  }

  // Answers a wait that has come to its end.
  void finish_wait(Connection& client) {
    const bool are_there = values_->wait(client.keys, Duration(0));
    if (!are_there && !client.wait->is_over()) return;
    client.out += Answer(are_there ? Reply::done : Reply::nothing).bytes();
    client.wait.reset();
  }

  const std::string job_;
  Socket listener_;
  const int port_;
  Socket wake_;
  std::shared_ptr<Store> values_ = memory_store();
  std::list<Connection> connections_;
  std::set<int64_t> processes_;  // that have said hello
  Deadline accept_again_{Duration(0)};
  std::atomic<bool> is_ending_{false};
  std::atomic<int64_t> awaited_{0}, grace_ms_{0};
  std::thread thread_;
};

StoreServer::StoreServer(const Endpoint& at, std::string job)
    : loop_(std::make_unique<Loop>(at, std::move(job))) {}
StoreServer::~StoreServer() { end(0, Duration(0)); }
int StoreServer::port() const { return loop_->port(); }
void StoreServer::end(int64_t clients, Duration grace) { loop_->end(clients, grace); }

}  // namespace tern::distributed
