#include <tern/core/error.h>
#include <tern/distributed/own_address.h>

#include <cstdlib>
#include <memory>

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tern::distributed {
namespace {

socklen_t length_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::string text_of(const sockaddr& address) {
  char text[NI_MAXHOST];
  const bool ok =
      ::getnameinfo(&address, length_of(address), text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  return ok ? text : "";
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

// Whether others can be told of it: IPv4, or IPv6 that is not bound to a link.
bool is_address(const sockaddr* address) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) return true;
  return address->sa_family == AF_INET6 &&
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// The address of the interface `name`, or of the first that is no loopback; IPv4 before IPv6.
std::string interface_address(const std::string& name) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, ::freeifaddrs);
  std::string found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (!is_address(one->ifa_addr) || !(one->ifa_flags & IFF_UP)) continue;
    if (name.empty() ? (one->ifa_flags & IFF_LOOPBACK) != 0 : name != one->ifa_name) continue;
    if (one->ifa_addr->sa_family == AF_INET) return text_of(*one->ifa_addr);
    if (found.empty()) found = text_of(*one->ifa_addr);
  }
  return found;
}

// Where packets to `host` leave from. Nothing is sent: connecting a UDP socket only chooses a route.
std::string route_address(const std::string& host) {
  addrinfo hints{}, *all = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &all) != 0) return "";
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(all, ::freeaddrinfo);
  for (const addrinfo* one = all; one != nullptr; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    const bool ok = ::connect(socket, one->ai_addr, one->ai_addrlen) == 0 &&
                    ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0;
    ::close(socket);
    const std::string text = ok ? text_of(reinterpret_cast<const sockaddr&>(own)) : "";
    if (!text.empty() && !is_loopback(text)) return text;
  }
  return "";
}

std::string setting(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string own_address(const std::string& reachable_host, bool is_one_host) {
  std::string interface = setting("TERN_DISTRIBUTED_INTERFACE");
  if (interface.empty()) interface = setting("GLOO_SOCKET_IFNAME");
  if (!interface.empty()) {
    const std::string address = interface_address(interface);
    check(!address.empty(), "process group: there is no network interface '", interface, "' with an address");
    return address;
  }
  if (is_one_host) return "127.0.0.1";
  const std::string host = reachable_host.empty() ? setting("MASTER_ADDR") : reachable_host;
  std::string address = host.empty() ? "" : route_address(host);
  if (address.empty()) address = interface_address("");
  return address.empty() ? "127.0.0.1" : address;
}

}  // namespace tern::distributed
