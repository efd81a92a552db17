#include <tern/core/error.h>
#include <tern/distributed/socket.h>
#include <tern/distributed/store_server.h>
#include <tern/distributed/tcp_store.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

Socket connected(int port) {
  std::string problem;
  Socket socket = try_connect({"127.0.0.1", port}, Deadline(5s), problem);
  REQUIRE(socket);
  return socket;
}

// Whether the server closes the connection before long.
bool is_closed(const Socket& socket) {
  std::string byte;
  return receive_all(socket, 1, byte, Deadline(5s)) == Transfer::lost;
}

}  // namespace

TEST_CASE("addresses are read as host:port") {
  CHECK(parse_endpoint("x", "a.b:1") == Endpoint{"a.b", 1});
  CHECK(parse_endpoint("x", "[::1]:65535") == Endpoint{"::1", 65535});
  CHECK(parse_endpoint("x", "host", 29500) == Endpoint{"host", 29500});
  CHECK(parse_endpoint("x", "[fe80::1]", 7) == Endpoint{"fe80::1", 7});
  CHECK(to_string(Endpoint{"::1", 5}) == "[::1]:5");
  CHECK(to_string(Endpoint{"host", 5}) == "host:5");
  for (const char* bad : {"", ":1", "host", "host:", "host:x", "host:65536", "host:-1", "host: 1", "::1:5",
                          "[::1]", "[::1]5", "[]:5", "[::1:5"}) {
    CAPTURE(bad);
    CHECK(contains(error_of([&] { parse_endpoint("address", bad); }), "address: "));
  }
}

TEST_CASE("a TCP store serves IPv6") {
  std::shared_ptr<TcpStore> server;
  try {
    server = tcp_store("::1", 0, {.is_server = true});
  } catch (const DistributedError& error) {
    MESSAGE("no IPv6 here: " << std::string(error.what()));
    return;
  }
  const auto client = tcp_store("::1", server->port());
  server->set("a", "1");
  CHECK(client->find("a") == "1");
  // One socket on all interfaces serves both.
  const auto everywhere = tcp_store("", 0, {.is_server = true});
  CHECK(!tcp_store("::1", everywhere->port())->find("a"));
  CHECK(!tcp_store("127.0.0.1", everywhere->port())->find("a"));
}

TEST_CASE("a port in use is an error at once that says who has it") {
  const Clock::time_point start = Clock::now();
  const Socket taken = listen_at({"127.0.0.1", 0});
  const std::string port = std::to_string(port_of(taken));
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const std::string error =
        error_of<PortInUse>([&] { tcp_store(host, port_of(taken), {.is_server = true}); });
    CHECK(contains(error, std::string(host) + ":" + port + " is in use by another program"));
  }
  const auto store = tcp_store("127.0.0.1", 0, {.is_server = true});
  const std::string error =
      error_of<DistributedError>([&] { tcp_store("127.0.0.1", store->port(), {.is_server = true}); });
  CHECK(contains(error, "in use by a store of Tern's in " + this_process()));
  CHECK(contains(error, "rank 0 started twice?"));
  CHECK(Clock::now() - start < 2s);
}

TEST_CASE("a master that can't be reached is an error after the timeout") {
  int port = 0;
  {
    const Socket free = listen_at({"127.0.0.1", 0});
    port = port_of(free);
  }
  const std::string place = "127.0.0.1:" + std::to_string(port);
  const Clock::time_point start = Clock::now();
  const std::string error =
      error_of<DistributedError>([&] { tcp_store("127.0.0.1", port, {.timeout = 100ms}); });
  CHECK(Clock::now() - start < 2s);
  CHECK(Clock::now() - start >= 100ms);
  CHECK(contains(error, "could not reach master at " + place + " within 100 ms: Connection refused"));
  CHECK(contains(
      error_of<DistributedError>([&] { tcp_store("no-such-host.invalid", 1, {.timeout = 1ms}); }),
      "could not reach master at no-such-host.invalid:1 within 1 ms: host name 'no-such-host.invalid'"));
}

TEST_CASE("a client waits for a server that starts late") {
  const int port = port_of(listen_at({"127.0.0.1", 0}));
  auto client = std::async(std::launch::async, [&] { return tcp_store("127.0.0.1", port)->get("a", 10s); });
  std::this_thread::sleep_for(30ms);
  const auto server = tcp_store("127.0.0.1", port, {.is_server = true});
  server->set("a", "late");
  CHECK(client.get() == "late");
}

TEST_CASE("what listens and is no store is told from one") {
  const Socket listener = listen_at({"127.0.0.1", 0});
  CHECK(contains(
      error_of<DistributedError>([&] { tcp_store("127.0.0.1", port_of(listener), {.timeout = 50ms}); }),
      "it accepted the connection, but did not answer"));
  std::atomic<bool> is_over{false};
  std::thread web([&] {
    while (!is_over) {
      const Socket client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client) send_all(client, "HTTP/1.1 400 Bad Request\r\n\r\n", Deadline(1s));
      std::this_thread::sleep_for(1ms);
    }
  });
  CHECK(contains(
      error_of<DistributedError>([&] { tcp_store("127.0.0.1", port_of(listener), {.timeout = 5s}); }),
      "what answers is no store of Tern's"));
  is_over = true;
  web.join();
}

TEST_CASE("a server survives garbage, silence and clients that die") {
  const auto store = tcp_store("127.0.0.1", 0, {.is_server = true});
  const int port = store->port();
  store->set("a", "1");
  const Socket silent = connected(port), half = connected(port);
  REQUIRE(send_all(half, std::string("\x20\0\0", 3), Deadline(1s)) == Transfer::done);
  const std::string garbage[] = {"GET / HTTP/1.1\r\n\r\n", std::string("\xff\xff\xff\xff", 4),
                                 std::string(4, '\0'), std::string("\3\0\0\0Hxx", 7),
                                 std::string("\1\0\0\0S", 5)};
  for (const std::string& bytes : garbage) {
    const Socket scanner = connected(port);
    REQUIRE(send_all(scanner, bytes, Deadline(1s)) == Transfer::done);
    CHECK(is_closed(scanner));
  }
  std::vector<Socket> many;
  for (int i = 0; i < 50; ++i) many.push_back(connected(port));
  CHECK(tcp_store("127.0.0.1", port)->find("a") == "1");
  many.clear();
  CHECK(store->find("a") == "1");
}

TEST_CASE("keys and values that are too long for a message are refused before they are sent") {
  const auto store = tcp_store("127.0.0.1", 0, {.is_server = true});
  CHECK(contains(error_of<DistributedError>([&] { store->set("a", std::string(17 << 20, 'x')); }), "16 MiB"));
  store->set("a", "1");
  CHECK(store->find("a") == "1");
}

TEST_CASE("the jobs at one port don't mix") {
  const auto store = tcp_store("127.0.0.1", 0, {.is_server = true, .job = "this"});
  const std::string error = error_of<DistributedError>(
      [&] { tcp_store("127.0.0.1", store->port(), {.timeout = 1000ms, .job = "that"}); });
  CHECK(contains(error,
                 "the store of another job answers there, 'this' of " + this_process() + "; this is 'that'"));
}

TEST_CASE("calls end at once when the server's process dies") {
  // The server's port comes through a pipe.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t server = ::fork();
  if (server == 0) {
    const auto store = tcp_store("127.0.0.1", 0, {.is_server = true});
    const int port = store->port();
    if (::write(ends[1], &port, sizeof port) != sizeof port) ::_exit(1);
    ::pause();
  }
  int port = 0;
  ::close(ends[1]);
  REQUIRE(::read(ends[0], &port, sizeof port) == sizeof port);
  ::close(ends[0]);
  const auto store = tcp_store("127.0.0.1", port);
  auto wait = std::async(std::launch::async,
                         [&] { return error_of<DistributedError>([&] { store->get("never", 60s); }); });
  std::this_thread::sleep_for(30ms);
  ::kill(server, SIGKILL);
  const Clock::time_point start = Clock::now();
  CHECK(contains(wait.get(), "is lost: the process that served it has ended"));
  CHECK(contains(error_of<DistributedError>([&] { store->set("a", ""); }), "is lost"));
  CHECK(Clock::now() - start < 3s);
  ::waitpid(server, nullptr, 0);
}

TEST_CASE("a server that ends first waits for the others") {
  auto server = tcp_store("127.0.0.1", 0, {.is_server = true, .world_size = 3});
  const int port = server->port();
  auto one = tcp_store("127.0.0.1", port);
  auto end = std::async(std::launch::async, [&] { server.reset(); });
  std::this_thread::sleep_for(20ms);
  one->set("a", "1");
  auto late = tcp_store("127.0.0.1", port);
  CHECK(late->find("a") == "1");
  CHECK(end.wait_for(20ms) == std::future_status::timeout);
  one.reset();
  late.reset();
  CHECK(end.wait_for(5s) == std::future_status::ready);
}

TEST_CASE("a server's grace has an end") {
  StoreServer server({"127.0.0.1", 0});
  const auto client = tcp_store("127.0.0.1", server.port());
  server.end(2, 50ms);
  CHECK(contains(error_of<DistributedError>([&] { client->find("a"); }), "is lost"));
}

TEST_CASE("bad arguments of a TCP store are errors") {
  CHECK_THROWS_AS(tcp_store("127.0.0.1", 0), Error);
  CHECK_THROWS_AS(tcp_store("127.0.0.1", -1, {.is_server = true}), Error);
  CHECK_THROWS_AS(tcp_store("127.0.0.1", 65536), Error);
  CHECK_THROWS_AS(tcp_store("127.0.0.1", 1, {.world_size = -1}), Error);
  CHECK_THROWS_AS(tcp_store("127.0.0.1", 1, {.job = std::string(1001, 'x')}), Error);
}
