// Store: where the ranks of a job find each other.
//
// A store is a map from keys to bytes that every rank of a job sees. `init_process_group` agrees over it who
// is there and how to reach whom; process groups say in it what a rank was doing when a collective failed. It
// is for small messages at the start and in trouble, never for tensors. Every call is safe from several
// threads. A store that can't be reached any longer throws DistributedError, and so does a wait that ends in
// vain.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::distributed {

/// A span of time, in whole milliseconds.
using Duration = std::chrono::milliseconds;

/// What every kind of store does. Keys are any text; values any bytes, the empty ones too.
class Store {
 public:
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes `value` what `key` stands for; the last writer wins.
  virtual void set(std::string_view key, std::string_view value) = 0;

  /// What `key` stands for; none when nobody has set it. Does not wait.
  virtual std::optional<std::string> find(std::string_view key) = 0;

  /// Adds `amount` to the decimal number behind `key`, 0 before, and returns the sum: one step, as if alone.
  virtual int64_t add(std::string_view key, int64_t amount) = 0;

  /// Sets `key` to `value` if nobody has set it. Returns what it stands for afterwards: one step, as if
  /// alone.
  virtual std::string set_if_absent(std::string_view key, std::string_view value) = 0;

  /// Forgets `key`; returns whether it was there.
  virtual bool erase(std::string_view key) = 0;

  /// Returns when all of `keys` are set; false if they are not by the end of `timeout`.
  virtual bool wait(const std::vector<std::string>& keys, Duration timeout) = 0;

  /// What `key` stands for; waits for it. DistributedError, with the key's name, after `timeout`.
  std::string get(std::string_view key, Duration timeout);

 protected:
  Store() = default;
};

/// The number that `value`, what `key` stands for, spells in decimal; nothing spells 0. DistributedError for
/// other text. For writers of stores.
int64_t store_number(std::string_view key, std::string_view value);

/// The sum of that number and `amount`. DistributedError also when it has more than 64 bits.
int64_t store_sum(std::string_view key, std::string_view value, int64_t amount);

/// A store within this process, for ranks that are threads of it.
std::shared_ptr<Store> memory_store();

/// `store` seen through a door: every key gets `prefix` in front of it, so that users of one store never
/// meet.
std::shared_ptr<Store> prefix_store(std::string prefix, std::shared_ptr<Store> store);

}  // namespace tern::distributed
