// At which of its addresses this host is to be reached.
#pragma once

#include <string>

namespace tern::distributed {

/// The address of the interface that TERN_DISTRIBUTED_INTERFACE or GLOO_SOCKET_IFNAME names; else 127.0.0.1
/// when all ranks are on this host; else the one that packets to `reachable_host` leave from (MASTER_ADDR of
/// the environment when empty); else that of the first interface that is up; else 127.0.0.1. Loopback counts
/// only as a named interface. Throws Error for an interface that is not there or has no address.
std::string own_address(const std::string& reachable_host, bool is_one_host);

}  // namespace tern::distributed
