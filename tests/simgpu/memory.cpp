#include <tern/tests/simgpu/memory.h>

#include <sys/mman.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>

#include <cinttypes>
#include <vector>

namespace simgpu {

uint64_t bytes_distance, shadow_distance;

namespace {

constexpr uint64_t granule = 256;  // CUDA's alignment of allocations
constexpr uint64_t page = 4096;

struct Memory {
  uint64_t base = 0;
  std::vector<uint64_t> next, used;  // a device's next free address; its bytes in use
  std::map<uint64_t, Allocation> table;
  uint64_t count = 0;
};

uint64_t reserve(uint64_t bytes, int protection) {
  void* address = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) give_up("can't reserve address space for the devices' memory");
  return reinterpret_cast<uint64_t>(address);
}

Memory& memory() {
  static Memory& result = *[] {
    Memory& made = *new Memory;
    const size_t devices = settings().devices.size();
    const uint64_t bytes = (devices + 1) * address_span;
    made.base = reserve(bytes, PROT_NONE);
    bytes_distance = reserve(bytes, PROT_READ | PROT_WRITE) - made.base;
    shadow_distance = reserve(bytes, PROT_READ | PROT_WRITE) - made.base;
    for (size_t device = 0; device < devices; ++device) {
      made.next.push_back(made.base + device * address_span + page);
      made.used.push_back(0);
    }
    return &made;
  }();
  return result;
}

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Gives whole pages of dead memory back to the machine.
void drop_pages(uint64_t address, uint64_t end) {
  const uint64_t first = round_up(address, page), last = end / page * page;
  if (first >= last) return;
  madvise(bytes_at(first), last - first, MADV_DONTNEED);
  madvise(shadow_at(first), last - first, MADV_DONTNEED);
}

}  // namespace

uint64_t allocate(int device, uint64_t bytes, const char* call) {
  Memory& all = memory();
  const auto index = static_cast<size_t>(device);
  const uint64_t capacity = settings().memory;
  if (bytes > capacity || round_up(bytes, granule) > capacity - all.used[index]) return 0;
  const uint64_t address = all.next[index];
  // A granule between neighbours stays free, so that an overrun never lands in another allocation.
  all.next[index] += round_up(bytes, granule) + granule;
  if (all.next[index] > range_of_device(device) + address_span)
    give_up("a device has used up all its addresses");
  all.used[index] += round_up(bytes, granule);
  all.table[address] = {
      .address = address, .bytes = bytes, .device = device, .number = ++all.count, .call = call};
  return address;
}

void pin(void* host, uint64_t bytes, const char* call) {
  Memory& all = memory();
  const auto address = reinterpret_cast<uint64_t>(host);
  // The host uses its addresses again: dead neighbours that the new range covers go.
  auto at = all.table.lower_bound(address);
  while (at != all.table.end() && at->first < address + bytes && !at->second.live) at = all.table.erase(at);
  all.table[address] = {.address = address, .bytes = bytes, .number = ++all.count, .call = call};
}

Allocation* find_allocation(uint64_t address) {
  auto& table = memory().table;
  auto at = table.upper_bound(address);
  if (at == table.begin()) return nullptr;
  --at;
  return address < at->second.end() || address == at->first ? &at->second : nullptr;
}

Allocation* find_live(uint64_t address) {
  Allocation* found = find_allocation(address);
  return found != nullptr && found->live ? found : nullptr;
}

void release(Allocation& allocation) {
  allocation.live = false;
  if (allocation.device < 0) return;
  memory().used[static_cast<size_t>(allocation.device)] -= round_up(allocation.bytes, granule);
  drop_pages(allocation.address, allocation.end());
}

uint64_t used_memory(int device) { return memory().used[static_cast<size_t>(device)]; }

int device_of_address(uint64_t address) {
  const Memory& all = memory();
  if (address < all.base || address >= window_base()) return -1;
  return static_cast<int>((address - all.base) / address_span);
}

uint64_t range_of_device(int device) { return memory().base + static_cast<uint64_t>(device) * address_span; }

uint64_t window_base() { return range_of_device(static_cast<int>(settings().devices.size())); }

std::string describe_address(uint64_t address) {
  auto& table = memory().table;
  auto at = table.upper_bound(address);
  if (at == table.begin() || device_of_address(address) != std::prev(at)->second.device) {
    const bool is_host = device_of_address(address) < 0;
    return is_host ? "no memory of a device: host memory that is not pinned, or nothing"
                   : "nothing allocated";
  }
  const Allocation& found = std::prev(at)->second;
  std::string text =
      format("allocation %" PRIu64 " (%s of %" PRIu64 " bytes", found.number, found.call, found.bytes);
  text += found.device < 0 ? ", pinned host memory)" : format(" on device %d)", found.device);
  if (!found.live) text += ", freed";
  if (address >= found.end()) return format("%" PRIu64 " bytes behind ", address - found.end()) + text;
  return format("byte %" PRIu64 " of ", address - found.address) + text;
}

const std::map<uint64_t, Allocation>& allocations() { return memory().table; }

}  // namespace simgpu
