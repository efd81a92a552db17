// Addresses and TCP connections, IPv4 and IPv6, with an end to every wait. For the stores and the launcher.
//
// What fails is a DistributedError that names the address and the cause. A Socket belongs to one thread at a
// time.
#pragma once

#include <tern/core/error.h>
#include <tern/distributed/store.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace tern::distributed {

/// A point in time that waits end at.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// `timeout` from now on; a century at most.
  explicit Deadline(Duration timeout)
      : at_(Clock::now() + std::min<Duration>(timeout, std::chrono::hours(876000))) {}
  /// What is left, rounded up; 0 at the end.
  Duration left() const { return std::max(Duration(0), std::chrono::ceil<Duration>(at_ - Clock::now())); }
  bool is_over() const { return Clock::now() >= at_; }
  /// What is left, but at most `most`, as poll() takes it.
  int poll_time(Duration most = std::chrono::hours(1)) const {
    return static_cast<int>(std::min(left(), most).count());
  }

 private:
  Clock::time_point at_;
};

/// Where a program listens: a host's name or address and a port.
struct Endpoint {
  std::string host;
  int port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// Reads "host:port" or "[address]:port"; `what` names the text in errors. Error for anything else. Without
/// `default_port` (below 0) the port must be there.
Endpoint parse_endpoint(std::string_view what, std::string_view text, int default_port = -1);

/// "host:port", with brackets around an address of IPv6.
std::string to_string(const Endpoint& at);

/// This process, for messages: "host (pid 123)".
std::string this_process();

/// An open socket, or none. Closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// The port at `at` is taken.
class PortInUse : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

/// A socket that listens at the port of `at` (0: any free one), not blocking: on one interface where the host
/// is written as an address of the loopback interface, 127.0.0.1 or ::1, otherwise on all of them. PortInUse
/// where another one listens.
Socket listen_at(const Endpoint& at);

/// The host by which this machine itself reaches what listen_at(at) listens to: `at.host` may be its name for
/// others only (a service of Kubernetes, an address behind a router).
std::string own_host(const Endpoint& at);

/// A connection that somebody made to `listener`, not blocking; empty where there is none, with the cause in
/// errno.
Socket accept_at(const Socket& listener);

/// The port that `listener` has.
int port_of(const Socket& listener);

/// A connection to `at`, not blocking; tries each of the host's addresses once. On failure an empty socket,
/// and `problem` says why.
Socket try_connect(const Endpoint& at, const Deadline& deadline, std::string& problem);

/// What happened to bytes on their way.
enum class Transfer { done, timed_out, lost };

/// Sends all of `bytes`.
Transfer send_all(const Socket& socket, std::string_view bytes, const Deadline& deadline);

/// Receives exactly `count` bytes into `bytes`.
Transfer receive_all(const Socket& socket, size_t count, std::string& bytes, const Deadline& deadline);

}  // namespace tern::distributed
