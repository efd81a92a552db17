#include <tern/core/error.h>
#include <tern/distributed/mesh.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <set>

#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace tern::distributed {
namespace {

using Buffer = gloo::transport::UnboundBuffer;

// While it lives, writing to a connection that the other end has closed is an error to this thread, and to
// those that it starts, where it would end the process: gloo's writes raise SIGPIPE.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pending;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec no_time{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &no_time);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(std::shared_ptr<distributed::Store> store, Duration timeout)
      : store_(std::move(store)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    store_->set(key, std::string_view(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = store_->get(key, timeout_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    check_as<DistributedError>(store_->wait(keys, timeout), "store: nobody set key '", keys.front(),
                               "' within ", timeout.count(), " ms");
  }

 private:
  std::shared_ptr<distributed::Store> store_;
  Duration timeout_;
};

// What gloo's error says, without the place in its source.
std::string text_of(const std::exception& error) {
  const std::string text = error.what();
  const size_t end = text.starts_with('[') ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

class GlooMesh final : public Mesh {
 public:
  GlooMesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address, Duration timeout);
  std::unique_ptr<Exchange> start(const Parts& out, const Parts& in) override;
  void interrupt() override;

 private:
  class GlooExchange;

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::mutex mutex_;
  std::set<Buffer*> pending_;  // guarded by mutex_, as is the next
  bool interrupted_ = false;
};

class GlooMesh::GlooExchange final : public Mesh::Exchange {
 public:
  explicit GlooExchange(GlooMesh& mesh) : mesh_(mesh) {}
  ~GlooExchange() override {
    const std::lock_guard lock(mesh_.mutex_);
    for (const Pending& part : pending_) mesh_.pending_.erase(part.buffer.get());
  }

  void begin(const Parts& out, const Parts& in) {
    run([&] {
      for (const Part& part : in)
        if (part.bytes > 0) add(part, true).recv(part.peer, part.label);
      for (const Part& part : out)
        if (part.bytes > 0) add(part, false).send(part.peer, part.label);
    });
  }

  void finish(Deadline deadline) override {
    run([&] {
      for (const Pending& part : pending_) {
        peer_ = part.peer;
        wait(part, deadline);
      }
    });
  }

 private:
  // A part that is under way.
  struct Pending {
    std::unique_ptr<Buffer> buffer;
    int peer;
    bool is_received;
  };

  Buffer& add(const Part& part, bool is_received) {
    peer_ = part.peer;
    pending_.push_back({mesh_.context_->createUnboundBuffer(part.data, part.bytes), part.peer, is_received});
    const std::lock_guard lock(mesh_.mutex_);
    if (mesh_.interrupted_) stop();
    mesh_.pending_.insert(pending_.back().buffer.get());
    return *pending_.back().buffer;
  }

  void wait(const Pending& part, Deadline deadline) {
    const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
    const Duration time = std::max(left, Duration(1));
    const bool is_done =
        part.is_received ? part.buffer->waitRecv(nullptr, time) : part.buffer->waitSend(nullptr, time);
    if (!is_done) stop();
  }

  [[noreturn]] static void stop() { throw std::runtime_error("the group was destroyed meanwhile"); }

  template <class Body>
  void run(const Body& body) {
    const WithoutPipeSignal without_pipe_signal;
    try {
      body();
    } catch (const std::exception& error) {
      mesh_.context_->closeConnections();
      throw MeshError(text_of(error), peer_);
    }
  }

  GlooMesh& mesh_;
  std::vector<Pending> pending_;
  int peer_ = -1;  // whom it waits for
};

GlooMesh::GlooMesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address,
                   Duration timeout) {
  const WithoutPipeSignal without_pipe_signal;
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
  context_ = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context_->setTimeout(timeout);
  GlooStore adapted(std::move(store), timeout);
  context_->connectFullMesh(adapted, device);
}

std::unique_ptr<Mesh::Exchange> GlooMesh::start(const Parts& out, const Parts& in) {
  auto exchange = std::make_unique<GlooExchange>(*this);
  exchange->begin(out, in);
  return exchange;
}

void GlooMesh::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  for (Buffer* buffer : pending_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

}  // namespace

std::unique_ptr<Mesh> gloo_mesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address,
                                Duration timeout) {
  try {
    return std::make_unique<GlooMesh>(std::move(store), rank, size, address, timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    check_as<DistributedError>(false, "gloo: rank ", rank, " at ", address,
                               " could not connect to the others: ", text_of(error));
    throw;
  }
}

}  // namespace tern::distributed
