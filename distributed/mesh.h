// Mesh: a connection from each rank to each other one, that carries bytes.
#pragma once

#include <tern/distributed/store.h>

#include <stdexcept>
#include <utility>

namespace tern::distributed {

/// Bytes that go to a rank, or come from it.
struct Part {
  int peer;
  char* data;
  size_t bytes;
  uint64_t label;  ///< what is sent under a label is received under the same label only
};
using Parts = std::vector<Part>;

/// An exchange that did not come to its end: why, and whom it was waiting for then.
class MeshError : public std::runtime_error {
 public:
  MeshError(const std::string& reason, int waiting_for) : std::runtime_error(reason), peer(waiting_for) {}
  int peer;
};

class Mesh {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  virtual ~Mesh() = default;
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// An exchange under way. Its memory must stay until it is gone.
  class Exchange {
   public:
    virtual ~Exchange() = default;
    /// Returns when all parts are received and sent.
    virtual void finish(Deadline deadline) = 0;
  };

  /// Starts to send `out` and to receive `in`, in any order and at the same time. Empty parts are neither
  /// sent nor awaited. After a MeshError, here or from finish(), all connections are closed, which ends the
  /// exchanges of the other ranks too. Several exchanges may be under way with different labels.
  virtual std::unique_ptr<Exchange> start(const Parts& out, const Parts& in) = 0;
  /// Ends all exchanges, from another thread.
  virtual void interrupt() = 0;

 protected:
  Mesh() = default;
};

/// Connects this rank to all others by the library gloo over TCP; it listens at `address` of this host. They
/// find each other through `store`. DistributedError when that fails.
std::unique_ptr<Mesh> gloo_mesh(std::shared_ptr<Store> store, int rank, int size, const std::string& address,
                                Duration timeout);

}  // namespace tern::distributed
