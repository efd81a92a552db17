// A store that one process serves and others reach over TCP, IPv4 or IPv6.
//
// The server lives in rank 0's store (or in ternrun, see store_server.h) and ends with it. rank 0's store, at
// its end, waits a little for the others: until all that came have gone, ten seconds at most, so that rank 0
// being first is no error for them. When the server's process dies, every call of the others ends with a
// DistributedError at once; when its machine is gone, within half a minute. Values and keys of one call
// together have at most 16 MiB.
#pragma once

#include <tern/distributed/store.h>

#include <memory>
#include <string>

namespace tern::distributed {

struct TcpStoreOptions {
  /// Whether this process serves the others: one does, rank 0.
  bool is_server = false;
  /// How many processes will come, the server among them; 0 when nobody knows. The server's end waits for
  /// those that have not come yet.
  int64_t world_size = 0;
  /// How long to look for the server, and to wait for an answer of it.
  Duration timeout = std::chrono::minutes(5);
  /// Which job this is: any text. A client that finds another job's server goes on looking.
  std::string job = {};
};

class TcpStore : public Store {
 public:
  /// The port that the server listens at.
  virtual int port() const = 0;
};

/// The store at `host`, a name or an address, and `port`; 0, for the server, is any free one. A server
/// listens on all interfaces, unless `host` is an address of the loopback interface. Errors, all
/// DistributedError: "host:port is in use", at once; "could not reach master at host:port", after the
/// timeout; and at once when what answers there is no store.
std::shared_ptr<TcpStore> tcp_store(const std::string& host, int port, const TcpStoreOptions& options = {});

}  // namespace tern::distributed
