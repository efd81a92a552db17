#include <tern/core/error.h>
#include <tern/distributed/file_store.h>
#include <tern/distributed/tcp_store.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>

#include <doctest/doctest.h>

#include <thread>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

namespace {

// A kind of store, as two processes of a job have it.
struct Pair {
  std::string kind;
  std::shared_ptr<Store> one, other;
};

Pair tcp_pair(const std::string& host) {
  const auto server = tcp_store(host, 0, {.is_server = true});
  return {"tcp " + host, server, tcp_store(host, server->port())};
}

// Calls `body` for each kind.
void for_each_kind(const std::function<void(Store& one, Store& other)>& body) {
  const TemporaryFolder folder;
  const std::shared_ptr<Store> memory = memory_store();
  std::vector<Pair> pairs = {{"memory", memory, memory},
                             {"prefix", prefix_store("a/", memory), prefix_store("a/", memory)},
                             tcp_pair("127.0.0.1"),
                             tcp_pair("localhost")};
  const std::shared_ptr<Store> file = file_store(folder.file("store"), 2);
  pairs.push_back({"file", file, file_store(folder.file("store"), 2)});
  for (Pair& pair : pairs) {
    CAPTURE(pair.kind);
    body(*pair.one, *pair.other);
    pair.other.reset();
    pair.one.reset();
  }
}

}  // namespace

TEST_CASE("a store keeps values, counts, and says what is not there") {
  for_each_kind([](Store& one, Store& other) {
    CHECK(!one.find("a"));
    one.set("a", std::string_view("x\0y", 3));
    CHECK(other.find("a") == std::string("x\0y", 3));
    other.set("a", "");
    CHECK(one.find("a") == "");
    CHECK(one.add("n", 5) == 5);
    CHECK(other.add("n", -7) == -2);
    CHECK(one.find("n") == "-2");
    CHECK(one.set_if_absent("a", "late") == "");
    CHECK(other.set_if_absent("b", "first") == "first");
    CHECK(one.set_if_absent("b", "second") == "first");
    CHECK(one.erase("a"));
    CHECK(!other.erase("a"));
    CHECK(!other.wait({"b", "a"}, 5ms));
    CHECK(one.wait({"b"}, 0ms));
    CHECK(one.wait({}, 0ms));
    CHECK(contains(error_of([&] { one.get("a", 1ms); }), "nobody set key 'a' within 1 ms"));
    one.set("word", "seven");
    CHECK(contains(error_of([&] { other.add("word", 1); }), "word', found 'seven'"));
    one.set("", "no key");
    CHECK(other.find("") == "no key");
  });
}

TEST_CASE("the sum behind a store's key must have 64 bits") {
  for_each_kind([](Store& one, Store& other) {
    one.set("n", "9223372036854775807");
    CHECK(contains(error_of<DistributedError>([&] { other.add("n", 1); }), "a sum beyond 64 bits"));
    CHECK(one.add("n", -1) == 9223372036854775806);
  });
}

TEST_CASE("a store takes keys and values of any bytes and of megabytes") {
  for_each_kind([](Store& one, Store& other) {
    const std::string large(3 << 20, '\xff'), key("k\0\n", 3);
    one.set(key, large);
    CHECK(other.find(key) == large);
    CHECK(!other.find("k"));
  });
}

TEST_CASE("a wait on a store ends when another thread sets the key") {
  for_each_kind([](Store& one, Store& other) {
    std::thread writer([&] {
      for (int i = 0; i < 100; ++i) other.add("count", 1);
      other.set("done", "yes");
    });
    for (int i = 0; i < 100; ++i) one.add("count", 1);
    CHECK(one.get("done", 10s) == "yes");
    writer.join();
    CHECK(one.find("count") == "200");
  });
}

TEST_CASE("many threads use a store at once, also one and the same") {
  for_each_kind([](Store& one, Store& other) {
    std::vector<std::thread> threads;
    std::vector<std::string> names;
    for (int i = 0; i < 8; ++i) names.push_back("here/" + std::to_string(i));
    std::atomic<int> right{0};
    for (size_t i = 0; i < names.size(); ++i)
      threads.emplace_back([&, i] {
        Store& store = i % 2 ? one : other;
        const bool is_first = store.set_if_absent("first", names[i]) == names[i];
        store.add("firsts", is_first);
        store.set(names[i], "yes");
        right += store.wait(names, 10s);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 8);
    CHECK(one.find("firsts") == "1");
  });
}

TEST_CASE("stores with prefixes share one store and do not meet") {
  const std::shared_ptr<Store> store = memory_store(), a = prefix_store("a/", store),
                               b = prefix_store("b/", store);
  a->set("key", "1");
  b->set("key", "2");
  CHECK(a->find("key") == "1");
  CHECK(store->find("b/key") == "2");
  CHECK(a->add("n", 1) == 1);
  CHECK(b->add("n", 2) == 2);
  CHECK(a->erase("key"));
  CHECK(b->get("key", 0ms) == "2");
  CHECK(a->set_if_absent("key", "3") == "3");
  CHECK(!b->wait({"n", "other"}, 1ms));
}
