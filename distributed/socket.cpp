#include <tern/core/error.h>
#include <tern/distributed/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tern::distributed {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const Endpoint& at, int flags, std::string& problem) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  const char* host = at.host.empty() ? nullptr : at.host.c_str();
  const int error = ::getaddrinfo(host, std::to_string(at.port).c_str(), &hints, &found);
  if (error) problem = "host name '" + at.host + "': " + ::gai_strerror(error);
  return Addresses(error ? nullptr : found, &::freeaddrinfo);
}

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

// Small messages at once; a peer whose machine is gone is noticed within half a minute.
void prepare_connection(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
}

// Whether `socket` gets ready for `events` in time.
bool wait_until_ready(int socket, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{socket, events, 0};
    if (::poll(&entry, 1, deadline.poll_time()) > 0) return true;
    if (deadline.is_over()) return false;
  }
}

// Whether `host` is written as an address of the loopback interface.
bool is_loopback_address(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

// An empty socket, and the cause in errno, when it can't.
Socket try_listen(const addrinfo& address) {
  Socket listener(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) return listener;
  set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) set_option(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(listener.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(listener.get(), SOMAXCONN) == 0)
    return listener;
  const int error = errno;
  listener = Socket();
  errno = error;
  return Socket();
}

Socket connect_one(const addrinfo& address, const Deadline& deadline, std::string& problem) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int error = 0;
  if (!socket || (::connect(socket.get(), address.ai_addr, address.ai_addrlen) < 0 && errno != EINPROGRESS)) {
    problem = reason(errno);
    return Socket();
  }
  socklen_t size = sizeof error;
  if (!wait_until_ready(socket.get(), POLLOUT, deadline))
    error = ETIMEDOUT;
  else
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  // A port of this machine that nobody listens at may, by chance, be given to the connection itself.
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  if (!error && ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
      ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
      here_size == there_size && std::memcmp(&here, &there, here_size) == 0)
    error = ECONNREFUSED;
  if (error) {
    problem = reason(error);
    return Socket();
  }
  prepare_connection(socket.get());
  return socket;
}

}  // namespace

Endpoint parse_endpoint(std::string_view what, std::string_view text, int default_port) {
  Endpoint at;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    check(end != text.npos && end > 1, what, ": needs host:port or [address]:port, got '", text, "'");
    at.host = text.substr(1, end - 1);
    has_port = end + 1 < text.size();
    if (has_port) port = text.substr(end + 1);
    check(!has_port || port.starts_with(':'), what, ": needs [address]:port, got '", text, "'");
    if (has_port) port.remove_prefix(1);
  } else {
    const size_t colon = text.find(':');
    check(text.find(':', colon + 1) == text.npos || colon == text.npos, what,
          ": an address of IPv6 needs brackets, [address]:port, got '", text, "'");
    at.host = text.substr(0, colon);
    has_port = colon != text.npos;
    if (has_port) port = text.substr(colon + 1);
  }
  check(!at.host.empty(), what, ": needs host:port, got '", text, "'");
  check(has_port || default_port >= 0, what, ": needs host:port, got '", text, "' without a port");
  at.port = default_port;
  if (!has_port) return at;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), at.port);
  check(error == std::errc() && end == port.data() + port.size() && at.port >= 0 && at.port <= 65535, what,
        ": the port must be a number from 0 to 65535, got '", port, "'");
  return at;
}

std::string to_string(const Endpoint& at) {
  const bool is_address = at.host.find(':') != std::string::npos;
  return (is_address ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

std::string this_process() {
  char name[256] = "unknown host";
  if (::gethostname(name, sizeof name - 1) != 0) std::strcpy(name, "unknown host");
  return std::string(name) + " (pid " + std::to_string(::getpid()) + ")";
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket listen_at(const Endpoint& at) {
  check(at.port >= 0 && at.port <= 65535, "a port must be from 0 to 65535, got ", at.port);
  const Endpoint where{is_loopback_address(at.host) ? at.host : "", at.port};
  std::string problem;
  const Addresses addresses = resolve(where, AI_PASSIVE, problem);
  check_as<DistributedError>(addresses != nullptr, "cannot listen at ", to_string(at), ": ", problem);
  // IPv6's socket for all interfaces serves IPv4 too.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* address = addresses.get(); address; address = address->ai_next) {
      if (address->ai_family != family) continue;
      if (Socket listener = try_listen(*address)) return listener;
      check_as<PortInUse>(errno != EADDRINUSE, to_string(at), " is in use: another program listens there");
      problem = reason(errno);
    }
  }
  detail::raise<DistributedError>(Condition(false), "cannot listen at ", to_string(at), ": ", problem);
}

std::string own_host(const Endpoint& at) { return is_loopback_address(at.host) ? at.host : "127.0.0.1"; }

Socket accept_at(const Socket& listener) {
  Socket socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) prepare_connection(socket.get());
  return socket;
}

int port_of(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  check_as<DistributedError>(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
                             "a socket does not tell its port: ", reason(errno));
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Socket try_connect(const Endpoint& at, const Deadline& deadline, std::string& problem) {
  const Addresses addresses = resolve(at, 0, problem);
  for (const addrinfo* address = addresses.get(); address; address = address->ai_next)
    if (Socket socket = connect_one(*address, deadline, problem)) return socket;
  return Socket();
}

Transfer send_all(const Socket& socket, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno != EINTR && errno != EAGAIN)
      return Transfer::lost;
    else if (errno == EAGAIN && !wait_until_ready(socket.get(), POLLOUT, deadline))
      return Transfer::timed_out;
  }
  return Transfer::done;
}

Transfer receive_all(const Socket& socket, size_t count, std::string& bytes, const Deadline& deadline) {
  bytes.resize(count);
  for (size_t got = 0; got < count;) {
    const ssize_t more = ::recv(socket.get(), bytes.data() + got, count - got, 0);
    if (more > 0)
      got += static_cast<size_t>(more);
    else if (more == 0 || (errno != EINTR && errno != EAGAIN))
      return Transfer::lost;
    else if (errno == EAGAIN && !wait_until_ready(socket.get(), POLLIN, deadline))
      return Transfer::timed_out;
  }
  return Transfer::done;
}

}  // namespace tern::distributed
