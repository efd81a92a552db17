// A store for processes of one host: a folder with a file for each key.
#pragma once

#include <tern/distributed/store.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tern::tests {

class FolderStore final : public distributed::Store {
 public:
  explicit FolderStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void set(std::string_view key, std::string_view value) override {
    const Lock lock(folder_);
    write(key, value);
  }
  std::optional<std::string> find(std::string_view key) override {
    std::ifstream file(path(key), std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  int64_t add(std::string_view key, int64_t amount) override {
    const Lock lock(folder_);
    const int64_t sum = distributed::store_number(key, find(key).value_or("")) + amount;
    write(key, std::to_string(sum));
    return sum;
  }
  std::string set_if_absent(std::string_view key, std::string_view value) override {
    const Lock lock(folder_);
    if (std::optional<std::string> old = find(key)) return *std::move(old);
    write(key, value);
    return std::string(value);
  }
  bool erase(std::string_view key) override {
    const Lock lock(folder_);
    return std::filesystem::remove(path(key));
  }
  bool wait(const std::vector<std::string>& keys, distributed::Duration timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (const std::string& key : keys) {
      while (!std::filesystem::exists(path(key))) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(distributed::Duration(1));
      }
    }
    return true;
  }

 private:
  struct Lock {
    explicit Lock(const std::filesystem::path& folder)
        : file(::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
      ::flock(file, LOCK_EX);
    }
    ~Lock() { ::close(file); }
    int file;
  };

  std::filesystem::path path(std::string_view key) const {
    std::string name = "key.";
    for (const char c : key) name += c == '/' ? '+' : c;
    return folder_ / name;
  }
  // Readers see the whole value or none.
  void write(std::string_view key, std::string_view value) const {
    const std::filesystem::path draft = folder_ / "draft";
    std::ofstream(draft, std::ios::binary) << value;
    std::filesystem::rename(draft, path(key));
  }

  std::filesystem::path folder_;
};

}  // namespace tern::tests
