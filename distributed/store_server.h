// StoreServer: the process that holds a TCP store's keys.
//
// A thread of its own answers every client. Connections that do not speak the store's language (port
// scanners, browsers) are closed, and so are those that say nothing for ten seconds or send more than a
// message may have (16 MiB); a client that reads slowly or dies holds up nobody else. rank 0 has one inside
// its tcp_store(); ternrun has one for the ranks that it starts.
#pragma once

#include <tern/distributed/socket.h>

#include <memory>
#include <string>

namespace tern::distributed {

class StoreServer {
 public:
  /// Listens at `at` (see listen_at; port 0 takes any free one) for the clients of `job`: others are told
  /// that this is not theirs. PortInUse when another program listens there.
  explicit StoreServer(const Endpoint& at, std::string job = "");
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  /// Ends at once; clients that wait get an error.
  ~StoreServer();

  int port() const;

  /// Waits until `clients` processes have come, and all have gone again (said good-bye or died), but no
  /// longer than `grace`. Then ends.
  void end(int64_t clients, Duration grace);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tern::distributed
