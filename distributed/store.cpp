#include <tern/core/error.h>
#include <tern/distributed/store.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace tern::distributed {
namespace {

class MemoryStore final : public Store {
 public:
  void set(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(mutex_);
    values_[std::string(key)] = value;
    changed_.notify_all();
  }

  std::optional<std::string> find(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    if (at == values_.end()) return std::nullopt;
    return at->second;
  }

  int64_t add(std::string_view key, int64_t amount) override {
    const std::lock_guard lock(mutex_);
    std::string& value = values_[std::string(key)];
    const int64_t sum = store_sum(key, value, amount);
    value = std::to_string(sum);
    changed_.notify_all();
    return sum;
  }

  std::string set_if_absent(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = values_.try_emplace(std::string(key), value);
    if (is_new) changed_.notify_all();
    return at->second;
  }

  bool erase(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    if (at == values_.end()) return false;
    values_.erase(at);
    return true;
  }

  bool wait(const std::vector<std::string>& keys, Duration timeout) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] {
      return std::all_of(keys.begin(), keys.end(),
                         [&](const std::string& key) { return values_.count(key); });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store)
      : prefix_(std::move(prefix)), store_(std::move(store)) {}

  void set(std::string_view key, std::string_view value) override { store_->set(within(key), value); }
  std::optional<std::string> find(std::string_view key) override { return store_->find(within(key)); }
  int64_t add(std::string_view key, int64_t amount) override { return store_->add(within(key), amount); }
  std::string set_if_absent(std::string_view key, std::string_view value) override {
    return store_->set_if_absent(within(key), value);
  }
  bool erase(std::string_view key) override { return store_->erase(within(key)); }

  bool wait(const std::vector<std::string>& keys, Duration timeout) override {
    std::vector<std::string> full;
    full.reserve(keys.size());
    for (const std::string& key : keys) full.push_back(within(key));
    return store_->wait(full, timeout);
  }

 private:
  std::string within(std::string_view key) const { return prefix_ + std::string(key); }

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace

int64_t store_number(std::string_view key, std::string_view value) {
  if (value.empty()) return 0;
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  check_as<DistributedError>(error == std::errc() && at == end, "store: add needs a number behind key '", key,
                             "', found '", value, "'");
  return number;
}

int64_t store_sum(std::string_view key, std::string_view value, int64_t amount) {
  int64_t sum = 0;
  check_as<DistributedError>(!__builtin_add_overflow(store_number(key, value), amount, &sum),
                             "store: the number behind key '", key, "', ", value, ", and ", amount,
                             " have a sum beyond 64 bits");
  return sum;
}

std::string Store::get(std::string_view key, Duration timeout) {
  const std::string name(key);
  check_as<DistributedError>(wait({name}, timeout), "store: nobody set key '", name, "' within ",
                             timeout.count(), " ms");
  std::optional<std::string> value = find(key);
  check_as<DistributedError>(value.has_value(), "store: key '", name,
                             "' was erased while a rank waited for it");
  return *std::move(value);
}

std::shared_ptr<Store> memory_store() { return std::make_shared<MemoryStore>(); }

std::shared_ptr<Store> prefix_store(std::string prefix, std::shared_ptr<Store> store) {
  return std::make_shared<PrefixStore>(std::move(prefix), std::move(store));
}

}  // namespace tern::distributed
