#include <tern/distributed/segment.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tern::distributed {

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free,
              "atomics between processes must be lock-free");

struct Segment::Header {
  uint64_t token[2];             ///< tells that a file opened through /proc is the right one
  std::atomic<uint32_t> failed;  ///< 1: the message is being written, 2: it is there
  char message[4096 - 64];
};

namespace {

constexpr size_t header_bytes = 4096;

size_t bytes_of(size_t ranks) {
  return header_bytes + ranks * (sizeof(Member) + 4 * Segment::slot_bytes) + ranks * ranks * sizeof(Channel);
}

}  // namespace

void Signal::raise_to(uint32_t value) {
  count.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    ::syscall(SYS_futex, &count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Signal::sleep(uint32_t target, Duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec limit{static_cast<time_t>(seconds.count()),
                       static_cast<long>(std::chrono::nanoseconds(time - seconds).count())};
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t now = count.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(now - target) < 0)
    ::syscall(SYS_futex, &count, FUTEX_WAIT, now, &limit, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

Segment::Segment(int file, void* memory, int ranks)
    : file_(file), memory_(memory), ranks_(static_cast<size_t>(ranks)) {}

Segment::~Segment() {
  close_file();
  ::munmap(memory_, bytes_of(ranks_));
}

void Segment::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

std::unique_ptr<Segment> Segment::map(int file, int ranks) {
  static_assert(sizeof(Header) <= header_bytes);
  void* const memory =
      ::mmap(nullptr, bytes_of(static_cast<size_t>(ranks)), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<Segment>(new Segment(file, memory, ranks));
}

std::unique_ptr<Segment> Segment::create(int ranks) {
  const int file = static_cast<int>(::memfd_create("tern process group", MFD_CLOEXEC));
  check_as<DistributedError>(file >= 0, "shared memory: ", std::strerror(errno));
  const auto bytes = static_cast<off_t>(bytes_of(static_cast<size_t>(ranks)));
  std::unique_ptr<Segment> segment = ::ftruncate(file, bytes) == 0 ? map(file, ranks) : nullptr;
  if (!segment) {
    const int error = errno;
    ::close(file);
    check_as<DistributedError>(false, "shared memory of ", bytes, " bytes: ", std::strerror(error));
  }
  std::random_device random;
  for (uint64_t& word : segment->header().token) word = uint64_t{random()} << 32 | random();
  return segment;
}

std::string Segment::address() const {
  std::ostringstream text;
  text << ::getpid() << ' ' << file_ << ' ' << header().token[0] << ' ' << header().token[1];
  return text.str();
}

std::unique_ptr<Segment> Segment::open(const std::string& address, int ranks) {
  std::istringstream text(address);
  int process = 0, number = -1;
  uint64_t token[2] = {};
  if (!(text >> process >> number >> token[0] >> token[1])) return nullptr;
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const off_t bytes = ::lseek(file, 0, SEEK_END);
  if (bytes == static_cast<off_t>(bytes_of(static_cast<size_t>(ranks)))) {
    std::unique_ptr<Segment> segment = map(file, ranks);
    if (segment && std::memcmp(segment->header().token, token, sizeof token) == 0) return segment;
    if (segment) return nullptr;
  }
  ::close(file);
  return nullptr;
}

void Segment::enter(int rank) const {
  const int32_t self = ::getpid();
  member(rank).process = self;
  member(rank).process_start = process_start(self);
}

Segment::Header& Segment::header() const { return *reinterpret_cast<Header*>(at(0)); }

Member& Segment::member(int rank) const {
  return *reinterpret_cast<Member*>(at(header_bytes + static_cast<size_t>(rank) * sizeof(Member)));
}

char* Segment::slot(int rank, uint32_t step) const {
  return at(header_bytes + ranks_ * sizeof(Member) +
            (4 * static_cast<size_t>(rank) + (step & 1)) * slot_bytes);
}

char* Segment::result(int rank, uint32_t step) const { return slot(rank, step) + 2 * slot_bytes; }

Channel& Segment::channel(int from, int to) const {
  return *reinterpret_cast<Channel*>(
      at(header_bytes + ranks_ * (sizeof(Member) + 4 * slot_bytes) +
         (static_cast<size_t>(from) * ranks_ + static_cast<size_t>(to)) * sizeof(Channel)));
}

std::optional<std::string> Segment::failure() const {
  if (header().failed.load(std::memory_order_acquire) == 0) return std::nullopt;
  // Whoever failed first may have died while it wrote.
  for (int i = 0; i < 1000 && header().failed.load(std::memory_order_acquire) == 1; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  if (header().failed.load(std::memory_order_acquire) == 1) return "a collective failed on another rank";
  return std::string(header().message);
}

std::string Segment::fail(const std::string& message) const {
  uint32_t expected = 0;
  if (!header().failed.compare_exchange_strong(expected, 1)) return failure().value_or(message);
  const size_t length = std::min(message.size(), sizeof header().message - 1);
  std::memcpy(header().message, message.data(), length);
  header().message[length] = '\0';
  header().failed.store(2, std::memory_order_release);
  return message;
}

uint64_t process_start(int32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  // The name, in parentheses, may hold anything. After it: the state, and the start as the 20th field.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  for (int i = 0; i < 18; ++i) fields >> skipped;
  uint64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace tern::distributed
