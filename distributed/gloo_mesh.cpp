#include <tern/core/error.h>
#include <tern/distributed/mesh.h>

#include <algorithm>
#include <mutex>
#include <set>

#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace tern::distributed {
namespace {

using Buffer = gloo::transport::UnboundBuffer;

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

class GlooMesh final : public Mesh {
 public:
  GlooMesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address, Duration timeout);
  void exchange(const Parts& out, const Parts& in, Deadline deadline) override;
  void interrupt() override;

 private:
  class Pending;

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::mutex mutex_;
  std::set<Buffer*> pending_;  // guarded by mutex_, as is the next
  bool interrupted_ = false;
};

// A part that is under way.
class GlooMesh::Pending {
 public:
  Pending(GlooMesh& mesh, const Part& part, bool receives) : mesh_(mesh), part_(part), receives_(receives) {
    buffer_ = mesh.context_->createUnboundBuffer(part.data, part.bytes);
    const std::lock_guard lock(mesh.mutex_);
    mesh.pending_.insert(buffer_.get());
  }
  ~Pending() {
    const std::lock_guard lock(mesh_.mutex_);
    mesh_.pending_.erase(buffer_.get());
  }
  Pending(const Pending&) = delete;

  void start() {
    if (receives_)
      buffer_->recv(part_.peer, part_.label);
    else
      buffer_->send(part_.peer, part_.label);
  }

  void wait(Deadline deadline) {
    const auto left = std::chrono::ceil<Duration>(deadline - std::chrono::steady_clock::now());
    const Duration time = std::max(left, Duration(1));
    const bool is_done = receives_ ? buffer_->waitRecv(nullptr, time) : buffer_->waitSend(nullptr, time);
    if (!is_done) throw std::runtime_error("the group was destroyed meanwhile");
  }

  int peer() const { return part_.peer; }

 private:
  GlooMesh& mesh_;
  const Part& part_;
  const bool receives_;
  std::unique_ptr<Buffer> buffer_;
};

GlooMesh::GlooMesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address,
                   Duration timeout) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
  context_ = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context_->setTimeout(timeout);
  GlooStore adapted(std::move(store), timeout);
  context_->connectFullMesh(adapted, device);
}

void GlooMesh::exchange(const Parts& out, const Parts& in, Deadline deadline) {
  std::vector<std::unique_ptr<Pending>> pending;
  int peer = -1;
  try {
    for (const auto& [parts, receives] : {std::pair(&in, true), std::pair(&out, false)}) {
      for (const Part& part : *parts) {
        if (part.bytes == 0) continue;
        peer = part.peer;
        pending.push_back(std::make_unique<Pending>(*this, part, receives));
        pending.back()->start();
      }
    }
    {
      const std::lock_guard lock(mutex_);
      if (interrupted_) throw std::runtime_error("the group was destroyed meanwhile");
    }
    for (const std::unique_ptr<Pending>& part : pending) {
      peer = part->peer();
      part->wait(deadline);
    }
  } catch (const std::exception& error) {
    context_->closeConnections();
    throw MeshError(error.what(), peer);
  }
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
                               " could not connect to the others: ", error.what());
    throw;
  }
}

}  // namespace tern::distributed
