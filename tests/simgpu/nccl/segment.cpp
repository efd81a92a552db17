#include <fcntl.h>
#include <sys/mman.h>
#include <tern/tests/simgpu/nccl/segment.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>

namespace simgpu::nccl {
namespace {

constexpr size_t segment_bytes = (1 + 2 * most_ranks + most_ranks * most_ranks) * region_bytes;
static_assert(sizeof(Shared) <= region_bytes);

/// What an id says.
struct Place {
  char mark[16];
  int64_t process;
  int32_t descriptor;
  uint64_t magic;
};
static_assert(sizeof(Place) <= sizeof(ncclUniqueId));
constexpr char the_mark[16] = "simulated NCCL";

struct Held {
  std::mutex mutex;
  std::map<uint64_t, int> descriptors;  // by magic
};

Held& held() {
  static auto* all = new Held;
  return *all;
}

Place place_of(const ncclUniqueId& id) {
  Place place;
  std::memcpy(&place, &id, sizeof place);
  return place;
}

void* map(int descriptor) {
  void* memory =
      mmap(nullptr, segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

Segment::~Segment() { munmap(memory_, segment_bytes); }

ncclResult_t make_id(ncclUniqueId& id) {
  const int descriptor = memfd_create("simgpu-nccl", MFD_CLOEXEC);
  if (descriptor < 0) return ncclSystemError;
  Place place = {{}, getpid(), descriptor, std::random_device{}() | uint64_t{std::random_device{}()} << 32};
  std::memcpy(place.mark, the_mark, sizeof the_mark);
  void* memory = ftruncate(descriptor, segment_bytes) == 0 ? map(descriptor) : nullptr;
  if (!memory) return close(descriptor), ncclSystemError;
  static_cast<Shared*>(memory)->magic = place.magic;
  munmap(memory, segment_bytes);
  const std::lock_guard lock(held().mutex);
  held().descriptors[place.magic] = descriptor;
  std::memset(&id, 0, sizeof id);
  std::memcpy(&id, &place, sizeof place);
  return ncclSuccess;
}

void forget(const ncclUniqueId& id) {
  const Place place = place_of(id);
  if (place.process != getpid()) return;
  const std::lock_guard lock(held().mutex);
  const auto found = held().descriptors.find(place.magic);
  if (found == held().descriptors.end()) return;
  close(found->second);
  held().descriptors.erase(found);
}

std::shared_ptr<Segment> Segment::open(const ncclUniqueId& id) {
  const Place place = place_of(id);
  if (std::memcmp(place.mark, the_mark, sizeof the_mark) != 0) return nullptr;
  const auto path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  const bool complete = lseek(descriptor, 0, SEEK_END) == static_cast<off_t>(segment_bytes);
  void* memory = complete ? map(descriptor) : nullptr;
  close(descriptor);
  if (!memory) return nullptr;
  std::shared_ptr<Segment> segment(new Segment(memory));
  return segment->shared().magic == place.magic ? segment
                                                : nullptr;  // the number may be another file's by now
}

bool is_alive(int64_t process) {
  const int file = ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char bytes[512];
  const ssize_t count = read(file, bytes, sizeof bytes);  // fails if the process ends meanwhile
  close(file);
  const std::string text(bytes, count > 0 ? static_cast<size_t>(count) : 0);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || text.size() < name_end + 3) return false;
  const char state = text[name_end + 2];
  return state != 'Z' && state != 'X';
}

}  // namespace simgpu::nccl
