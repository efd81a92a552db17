#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <exception>
#include <mutex>
#include <thread>

namespace tern::tests {

using namespace distributed;

void run_threads(int size, const std::function<void(const std::shared_ptr<Store>&, int)>& body) {
  const std::shared_ptr<Store> store = memory_store();
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(store, rank);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void run_ranks(int size, const std::function<void(const Group&)>& body, const ProcessGroupOptions& options) {
  run_threads(size, [&](const std::shared_ptr<Store>& store, int rank) {
    body(make_process_group("gloo", store, rank, size, options));
  });
}

void for_each_transport(const std::function<void(const ProcessGroupOptions&)>& body) {
  for (const bool shared_memory : {true, false}) {
    CAPTURE(shared_memory);
    ProcessGroupOptions options;
    options.timeout = std::chrono::seconds(30);
    options.shared_memory = shared_memory;
    body(options);
  }
}

void run_both(int size, Duration timeout, const std::function<void(const Group&)>& body) {
  run_threads(2, [&](const std::shared_ptr<Store>&, int transport) {
    ProcessGroupOptions options;
    options.timeout = timeout;
    options.shared_memory = transport == 0;
    run_ranks(size, body, options);
  });
}

void run_both(int size, const std::function<void(const Group&)>& body) {
  run_both(size, std::chrono::seconds(30), body);
}

}  // namespace tern::tests
