#include <tern/distributed/store.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <thread>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;
using namespace std::chrono_literals;

TEST_CASE("a store in memory keeps values, counts, and says what is not there") {
  const std::shared_ptr<Store> store = memory_store();
  CHECK(!store->find("a"));
  store->set("a", std::string_view("x\0y", 3));
  CHECK(store->find("a") == std::string("x\0y", 3));
  store->set("a", "");
  CHECK(store->find("a") == "");
  CHECK(store->add("n", 5) == 5);
  CHECK(store->add("n", -7) == -2);
  CHECK(store->find("n") == "-2");
  CHECK(store->set_if_absent("a", "late") == "");
  CHECK(store->set_if_absent("b", "first") == "first");
  CHECK(store->erase("a"));
  CHECK(!store->erase("a"));
  CHECK(!store->wait({"b", "a"}, 5ms));
  CHECK(store->wait({"b"}, 0ms));
  CHECK(contains(error_of([&] { store->get("a", 1ms); }), "nobody set key 'a' within 1 ms"));
  store->set("word", "seven");
  CHECK(contains(error_of([&] { store->add("word", 1); }), "a number behind key 'word', found 'seven'"));
}

TEST_CASE("a wait on a store ends when another thread sets the key") {
  const std::shared_ptr<Store> store = memory_store();
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) store->add("count", 1);
    store->set("done", "yes");
  });
  for (int i = 0; i < 1000; ++i) store->add("count", 1);
  CHECK(store->get("done", 10s) == "yes");
  writer.join();
  CHECK(store->find("count") == "2000");
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
