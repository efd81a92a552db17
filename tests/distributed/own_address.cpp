#include <tern/distributed/own_address.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

TEST_CASE("a rank listens where it is told to, on loopback when alone, else where others can come") {
  ::setenv("TERN_DISTRIBUTED_INTERFACE", "lo", 1);
  CHECK(own_address("", false) == "127.0.0.1");
  ::setenv("TERN_DISTRIBUTED_INTERFACE", "no-such-interface", 1);
  CHECK(
      contains(error_of([] { own_address("", true); }), "there is no network interface 'no-such-interface'"));
  ::unsetenv("TERN_DISTRIBUTED_INTERFACE");
  CHECK(own_address("", true) == "127.0.0.1");
  // What leads to loopback is of no use to other hosts.
  CHECK(own_address("127.0.0.1", false) == own_address("", false));
  CHECK(!own_address("", false).empty());
}
