#include <tern/core/error.h>
#include <tern/distributed/store_server.h>
#include <tern/distributed/store_wire.h>
#include <tern/distributed/tcp_store.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace tern::distributed {
namespace {

using wire::Fields;
using wire::Reply;
using wire::Request;
using Question = wire::Message<Request>;

constexpr Duration grace = std::chrono::seconds(10);    // of the server, for those who are still there
constexpr Duration patience = std::chrono::seconds(5);  // for one try, and beyond a wait's own time

// Receives a message, without its length.
Transfer receive_message(const Socket& socket, std::string& message, const Deadline& deadline) {
  const Transfer result = receive_all(socket, wire::length_bytes, message, deadline);
  if (result != Transfer::done) return result;
  const auto length = static_cast<size_t>(wire::read_number(message, wire::length_bytes));
  check_as<DistributedError>(length >= 1 && length <= wire::longest_message,
                             "what answers is no store of Tern's");
  return receive_all(socket, length, message, deadline);
}

Reply kind_of(const std::string& message) { return static_cast<Reply>(message[0]); }
Fields fields_of(const std::string& message) { return Fields(std::string_view(message).substr(1)); }

// One try to become a client of `job`'s server at `at`. On failure an empty socket, and `problem` says why.
// `server` becomes what answered.
Socket try_join(const Endpoint& at, const std::string& job, int64_t process, const Deadline& deadline,
                std::string& problem, std::string& server) {
  Socket socket = try_connect(at, deadline, problem);
  if (!socket) return socket;
  std::string message;
  const std::string hello = Question(Request::hello).text(wire::magic).text(job).number(process).bytes();
  Transfer result = send_all(socket, hello, deadline);
  if (result == Transfer::done) result = receive_message(socket, message, deadline);
  if (result != Transfer::done) {
    problem = result == Transfer::lost ? "it closed the connection"
                                       : "it accepted the connection, but did not answer";
    return Socket();
  }
  Fields fields = fields_of(message);
  server = fields.text();
  const std::string_view other = fields.text();
  check_as<DistributedError>(fields.is_at_end(), "what answers is no store of Tern's");
  if (kind_of(message) == Reply::done) return socket;
  problem = "the store of another job answers there, '" + std::string(other) + "' of " + server +
            "; this is '" + job + "'";
  return Socket();
}

class Client final : public TcpStore {
 public:
  Client(Endpoint at, const TcpStoreOptions& options, std::unique_ptr<StoreServer> server)
      : server_(std::move(server)), at_(std::move(at)), options_(options) {
    idle_.push_back(join(options_.timeout));
  }
  ~Client() override {
    idle_.clear();  // says good-bye
    if (server_) server_->end(options_.world_size, std::min(grace, options_.timeout));
  }

  int port() const override { return at_.port; }

  void set(std::string_view key, std::string_view value) override {
    ask(Question(Request::set).text(key).text(value));
  }

  std::optional<std::string> find(std::string_view key) override {
    const std::string reply = ask(Question(Request::find).text(key));
    if (kind_of(reply) == Reply::nothing) return std::nullopt;
    return std::string(fields_of(reply).text());
  }

  int64_t add(std::string_view key, int64_t amount) override {
    return fields_of(ask(Question(Request::add).text(key).number(amount))).number();
  }

  std::string set_if_absent(std::string_view key, std::string_view value) override {
    const std::string reply = ask(Question(Request::claim).text(key).text(value));
    return std::string(fields_of(reply).text());
  }

  bool erase(std::string_view key) override {
    return fields_of(ask(Question(Request::erase).text(key))).number() != 0;
  }

  bool wait(const std::vector<std::string>& keys, Duration timeout) override {
    Question question(Request::wait);
    question.number(timeout.count()).number(static_cast<int64_t>(keys.size()));
    for (const std::string& key : keys) question.text(key);
    return kind_of(ask(question, timeout)) == Reply::done;
  }

 private:
  // A new connection. Looks for the server until `timeout`.
  Socket join(Duration timeout) {
    const Deadline deadline(timeout);
    std::string problem, server;
    for (Duration pause(5);; pause = std::min<Duration>(2 * pause, std::chrono::milliseconds(500))) {
      try {
        const Deadline once(std::min(std::max(deadline.left(), Duration(1)), patience));
        if (Socket socket = try_join(at_, options_.job, process_, once, problem, server)) return socket;
      } catch (const DistributedError& error) {
        detail::raise<DistributedError>(Condition(false), to_string(at_), ": ", error.what());
      }
      check_as<DistributedError>(!deadline.is_over(), "could not reach master at ", to_string(at_),
                                 " within ", timeout.count(), " ms: ", problem);
      std::this_thread::sleep_for(std::min(pause, deadline.left()));
    }
  }

  // A connection serves one call at a time: while one waits, others take or make another.
  Socket take_connection() {
    check_as<DistributedError>(!is_lost_, "the store at ", to_string(at_), " is lost: ", lost_text);
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Socket socket = std::move(idle_.back());
        idle_.pop_back();
        return socket;
      }
    }
    return join(std::min(patience, options_.timeout));
  }

  // Sends a question and returns the answer; `extra` is how long the server may think about it.
  std::string ask(const Question& question, Duration extra = Duration(0)) {
    const std::string bytes = question.bytes();
    check_as<DistributedError>(bytes.size() - wire::length_bytes <= wire::longest_message,
                               "store: keys and values of one call may have 16 MiB, these have ",
                               bytes.size(), " bytes");
    Socket socket = take_connection();
    const Deadline deadline(std::max(options_.timeout, patience) +
                            std::clamp<Duration>(extra, Duration(0), std::chrono::hours(800000)));
    std::string reply;
    Transfer result = send_all(socket, bytes, deadline);
    if (result == Transfer::done) result = receive_message(socket, reply, deadline);
    if (result == Transfer::lost) is_lost_ = true;
    check_as<DistributedError>(result != Transfer::lost, "the store at ", to_string(at_),
                               " is lost: ", lost_text);
    check_as<DistributedError>(result == Transfer::done, "the store at ", to_string(at_), " does not answer");
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(socket));
    }
    check_as<DistributedError>(kind_of(reply) != Reply::failed, fields_of(reply).text());
    return reply;
  }

  static constexpr const char* lost_text = "the process that served it has ended or can't be reached";

  std::unique_ptr<StoreServer> server_;
  const Endpoint at_;
  const TcpStoreOptions options_;
  const int64_t process_ =
      static_cast<int64_t>((uint64_t{std::random_device()()} << 32) + std::random_device()());
  std::mutex mutex_;
  std::vector<Socket> idle_;
  std::atomic<bool> is_lost_{false};
};

// Who listens at `at`, as far as it tells.
std::string who_is_at(const Endpoint& at) {
  std::string problem, server;
  try {
    try_join(at, "who are you?", 0, Deadline(std::chrono::milliseconds(300)), problem, server);
  } catch (const DistributedError&) {
  }
  if (server.empty()) return "by another program";
  return "by a store of Tern's in " + server + ": another job, or rank 0 started twice?";
}

std::unique_ptr<StoreServer> serve(const Endpoint& at, const std::string& job) {
  try {
    return std::make_unique<StoreServer>(at, job);
  } catch (const PortInUse&) {
    detail::raise<PortInUse>(Condition(false), to_string(at), " is in use ", who_is_at(at));
  }
}

}  // namespace

std::shared_ptr<TcpStore> tcp_store(const std::string& host, int port, const TcpStoreOptions& options) {
  check(port >= (options.is_server ? 0 : 1) && port <= 65535, "tcp_store: the port must be from ",
        options.is_server ? 0 : 1, " to 65535, got ", port);
  check(options.world_size >= 0, "tcp_store: the world size must not be negative, got ", options.world_size);
  check(options.job.size() <= 1000, "tcp_store: the job's name may have 1000 bytes, this one has ",
        options.job.size());
  Endpoint at{host, port};
  std::unique_ptr<StoreServer> server;
  if (options.is_server) {
    server = serve(at, options.job);
    at.port = server->port();
    at.host = own_host(at);
  }
  return std::make_shared<Client>(at, options, std::move(server));
}

}  // namespace tern::distributed
