#include <tern/core/error.h>
#include <tern/distributed/file_store.h>
#include <tern/distributed/locked_file.h>
#include <tern/distributed/store_wire.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace tern::distributed {
namespace {

using wire::Fields;
enum class Entry : char { job = 'J', member = 'M', set = 'S', erase = 'E' };
using Record = wire::Message<Entry>;

// Bytes whose locks mean something; no log gets there.
constexpr int64_t log_lock = int64_t{1} << 60, first_member_lock = log_lock + 1;
constexpr std::string_view magic = "tern file store 1";

// What the log says so far.
struct Log {
  int64_t end = 0;  // in the file
  std::string magic, job;
  int64_t world_size = 0;
  std::vector<std::string> members;  // the processes that came, in this order
  std::map<std::string, std::string, std::less<>> values;

  void apply(std::string_view message) {
    Fields fields(message.substr(1));
    switch (static_cast<Entry>(message[0])) {
      case Entry::job:
        magic = fields.text(), job = fields.text(), world_size = fields.number();
        break;
      case Entry::member:
        members.emplace_back(fields.text());
        break;
      case Entry::set: {
        const std::string key(fields.text());
        values[key] = fields.text();
        break;
      }
      case Entry::erase:
        values.erase(std::string(fields.text()));
        break;
    }
  }

  // Reads on from the last time. A record that is not whole is what a process left that died in the middle:
  // the next one is written over it.
  void read(const LockedFile& file) {
    const std::string bytes = file.read(end, file.size());
    std::string_view rest = bytes;
    while (rest.size() >= wire::length_bytes) {
      const auto length = static_cast<size_t>(wire::read_number(rest, wire::length_bytes));
      if (length < 1 || rest.size() - wire::length_bytes < length) break;
      apply(rest.substr(wire::length_bytes, length));
      rest.remove_prefix(wire::length_bytes + length);
      end += static_cast<int64_t>(wire::length_bytes + length);
    }
  }
};

class FileStore final : public Store {
 public:
  FileStore(std::string path, int64_t world_size, FileStoreOptions options)
      : path_(std::move(path)), world_size_(world_size), options_(std::move(options)) {
    const Deadline deadline(options_.timeout);
    for (Duration pause(2); !try_join(deadline);
         pause = std::min<Duration>(2 * pause, std::chrono::milliseconds(100)))
      std::this_thread::sleep_for(pause);
  }

  ~FileStore() override {
    try {
      const Lock lock(*this, true);
      if (!file_->is_current()) return;
      if (living().empty()) file_->remove();
    } catch (const DistributedError&) {
      // The file stays behind; whoever comes next finds nobody in it.
    }
  }

  void set(std::string_view key, std::string_view value) override {
    const Lock lock(*this, true);
    append(Record(Entry::set).text(key).text(value));
  }

  std::optional<std::string> find(std::string_view key) override {
    const Lock lock(*this, false);
    const auto at = log_.values.find(key);
    if (at == log_.values.end()) return std::nullopt;
    return at->second;
  }

  int64_t add(std::string_view key, int64_t amount) override {
    const Lock lock(*this, true);
    const auto at = log_.values.find(key);
    const int64_t sum = store_sum(key, at == log_.values.end() ? "" : at->second, amount);
    append(Record(Entry::set).text(key).text(std::to_string(sum)));
    return sum;
  }

  std::string set_if_absent(std::string_view key, std::string_view value) override {
    const Lock lock(*this, true);
    const auto at = log_.values.find(key);
    if (at != log_.values.end()) return at->second;
    append(Record(Entry::set).text(key).text(value));
    return std::string(value);
  }

  bool erase(std::string_view key) override {
    const Lock lock(*this, true);
    if (log_.values.find(key) == log_.values.end()) return false;
    append(Record(Entry::erase).text(key));
    return true;
  }

  bool wait(const std::vector<std::string>& keys, Duration timeout) override {
    const Deadline deadline(timeout);
    for (Duration pause(1);; pause = std::min<Duration>(2 * pause, std::chrono::milliseconds(50))) {
      {
        const Lock lock(*this, false);
        if (std::all_of(keys.begin(), keys.end(),
                        [&](const std::string& key) { return log_.values.count(key); }))
          return true;
      }
      if (deadline.is_over()) return false;
      std::this_thread::sleep_for(std::min(pause, deadline.left()));
    }
  }

 private:
  // The store to this thread, the file to this store; what others appended is read.
  class Lock {
   public:
    Lock(FileStore& store, bool alone) : within_(store.mutex_), file_(*store.file_) {
      check_as<DistributedError>(file_.lock(log_lock, alone, Deadline(store.options_.timeout)),
                                 "file store \"", store.path_, "\": another process holds its lock for ",
                                 store.options_.timeout.count(), " ms: is it stopped?");
      if (store.member_ >= 0 && !file_.is_current()) {
        file_.unlock(log_lock);
        detail::raise<DistributedError>(Condition(false), "file store \"", store.path_,
                                        "\": the file was removed while the job runs");
      }
      store.log_.read(file_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { file_.unlock(log_lock); }

   private:
    std::lock_guard<std::mutex> within_;
    LockedFile& file_;
  };

  // Opens the file and becomes one of those who have it; false when others have to go first.
  bool try_join(const Deadline& deadline) {
    file_.emplace(path_);
    log_ = Log();
    const Lock lock(*this, true);
    if (!file_->is_current()) return false;  // it was removed just now
    const std::vector<std::string> there = living();
    if (there.empty()) {
      start_anew();
    } else {
      if (!may_join(there, deadline)) return false;
    }
    member_ = static_cast<int64_t>(log_.members.size());
    check_as<DistributedError>(file_->lock(first_member_lock + member_, true, deadline), "file store \"",
                               path_, "\": another process holds the lock of this one");
    append(Record(Entry::member).text(this_process()));
    return true;
  }

  bool may_join(const std::vector<std::string>& there, const Deadline& deadline) const {
    const auto came = static_cast<int64_t>(log_.members.size());
    const bool is_open = static_cast<int64_t>(there.size()) == came && came < log_.world_size;
    const bool is_ours = log_.job == options_.job && log_.world_size == world_size_;
    std::string names;
    for (const std::string& name : there) names += (names.empty() ? "" : ", ") + name;
    check_as<DistributedError>(is_ours || !is_open, "file store \"", path_, "\": processes of job '",
                               log_.job, "' with world size ", log_.world_size, " gather here (", names,
                               "); this is job '", options_.job, "' with world size ", world_size_,
                               ". End them, or use another path");
    check_as<DistributedError>(is_open || !deadline.is_over(), "file store \"", path_,
                               "\": an earlier run still uses it: ", there.size(), " of its ",
                               log_.world_size, " processes live (", names,
                               "). End them, or use another path");
    return is_open;
  }

  void start_anew() {
    const std::string start = file_->read(0, 64);
    check_as<DistributedError>(start.empty() || start.find(magic) != std::string::npos, "file store \"",
                               path_, "\": the file holds something else; remove it or use another path");
    log_ = Log();
    append(Record(Entry::job).text(magic).text(options_.job).number(world_size_));
  }

  // Those of the members, this one left out, that still have the file open.
  std::vector<std::string> living() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < log_.members.size(); ++i)
      if (file_->is_locked_by_others(first_member_lock + static_cast<int64_t>(i)))
        names.push_back(log_.members[i]);
    return names;
  }

  void append(const Record& record) {
    const std::string bytes = record.bytes();
    file_->write(log_.end, bytes);
    log_.apply(std::string_view(bytes).substr(wire::length_bytes));
    log_.end += static_cast<int64_t>(bytes.size());
  }

  const std::string path_;
  const int64_t world_size_;
  const FileStoreOptions options_;
  std::mutex mutex_;
  std::optional<LockedFile> file_;
  Log log_;
  int64_t member_ = -1;  // this process is the so-manieth that came
};

}  // namespace

std::shared_ptr<Store> file_store(const std::string& path, int64_t world_size,
                                  const FileStoreOptions& options) {
  check(world_size >= 1 && world_size <= int64_t{1} << 30,
        "file_store: the world size must be from 1 to 2^30, got ", world_size);
  check(!path.empty(), "file_store: needs a path");
  return std::make_shared<FileStore>(path, world_size, options);
}

}  // namespace tern::distributed
