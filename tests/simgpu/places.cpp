#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/report.h>

#include <algorithm>

namespace simgpu {
namespace {

const char* verb(Touch touch) {
  return touch == Touch::read ? "a read" : touch == Touch::write ? "a write" : "an atomic update";
}

std::string at_address(uint64_t address, uint32_t bytes, Touch touch) {
  return format("%s of %u bytes at 0x%llx, %s,", verb(touch), bytes, static_cast<unsigned long long>(address),
                describe_address(address).c_str());
}

/// Shared and local memory seen through a generic address.
CachedRange window_range(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                         Touch touch, uint32_t lane) {
  const Block& block = *warp.block;
  const bool is_local = address >= block.local_base;
  const uint64_t begin = is_local ? block.local_base : block.shared_base;
  const uint64_t length =
      is_local ? uint64_t{block.kernel->local_bytes} * 32 * block.warps.size() : uint64_t{block.shared_bytes};
  if (address < begin || address + bytes > begin + length) {
    fault(warp, operation, cudaErrorIllegalAddress,
          format("out of bounds: %s of %u bytes at offset %lld of %s memory, which has %llu,", verb(touch),
                 bytes, static_cast<long long>(address - begin), is_local ? "local" : "shared",
                 static_cast<unsigned long long>(length)),
          lane);
  }
  return {begin, begin + length, bytes_distance, 0};
}

}  // namespace

CachedRange find_range(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                       Touch touch, uint32_t lane) {
  if (address >= window_base() && address < window_base() + address_span) {
    return window_range(warp, operation, address, bytes, touch, lane);
  }
  const auto refuse = [&](const std::string& why) {
    fault(warp, operation, cudaErrorIllegalAddress, why + ": " + at_address(address, bytes, touch), lane);
  };
  const Allocation* found = find_allocation(address);
  if (found == nullptr || address + bytes > found->end()) {
    const bool is_host = device_of_address(address) < 0 && found == nullptr;
    refuse(address < 4096 ? "null pointer" : is_host ? "host memory used by a kernel" : "out of bounds");
  }
  if (!found->live) refuse("use after free");
  if (found->device >= 0 && !may_access(warp.block->device, found->device)) {
    refuse("memory of a device that is no peer");
  }
  if (found->device < 0) return {found->address, found->end(), 0, 0};
  return {found->address, found->end(), bytes_distance, shadow_distance};
}

void misaligned(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                uint32_t lane) {
  fault(warp, operation, cudaErrorMisalignedAddress,
        format("misaligned address 0x%llx for %u bytes", static_cast<unsigned long long>(address), bytes),
        lane);
}

void uninitialized(const Warp& warp, const Operation& operation, uint64_t address, uint32_t bytes,
                   uint32_t lane) {
  fault(warp, operation, cudaErrorIllegalAddress,
        "uninitialised memory is read: " + at_address(address, bytes, Touch::read), lane);
}

void outside(const Warp& warp, const Operation& operation, Space space, uint64_t offset, uint32_t bytes,
             uint32_t lane) {
  const Block& block = *warp.block;
  const bool shared = space == Space::shared;
  fault(warp, operation, cudaErrorIllegalAddress,
        format("out of bounds: %u bytes at offset %llu of %s memory, which has %u,", bytes,
               static_cast<unsigned long long>(offset), shared ? "shared" : "local",
               shared ? block.shared_bytes : block.kernel->local_bytes),
        lane);
}

void track_shared(Warp& warp, const Operation& operation, uint32_t offset, uint32_t bytes, bool writes,
                  bool strong, uint32_t lane) {
  Block& block = *warp.block;
  const auto index = static_cast<uint16_t>(warp.index);
  const uint32_t end = offset + bytes;
  for (uint32_t at = offset / 4; at * 4 < end; ++at) {
    SharedWord& word = block.shared_words[at];
    const uint32_t first = at * 4 < offset ? offset % 4 : 0, last = std::min<uint32_t>(end - at * 4, 4);
    const auto mask = static_cast<uint8_t>((1U << last) - (1U << first));
    const bool meets_write = word.write_epoch == block.epoch && word.write_warp != index &&
                             (word.write_bytes & mask) != 0 && !(strong && word.write_strong);
    const bool meets_read = writes && word.read_epoch == block.epoch && word.read_warp != index &&
                            (word.read_bytes & mask) != 0 && !(strong && word.read_strong);
    if ((meets_write || meets_read) && !block.reported_race) {
      block.reported_race = true;  // once a launch is enough
      report(format(
          "race: no barrier orders two accesses to byte %u of shared memory, %s by warp %u and %s %s",
          at * 4 + first, meets_write ? "a write" : "a read", meets_write ? word.write_warp : word.read_warp,
          writes ? "a write" : "a read", where(warp, operation, lane).c_str()));
    }
    if (writes) {
      const bool goes_on = word.write_epoch == block.epoch && word.write_warp == index;
      word.write_bytes = static_cast<uint8_t>((goes_on ? word.write_bytes : 0) | mask);
      word.write_epoch = block.epoch;
      word.write_warp = index;
      word.write_strong = strong;
    } else if (word.read_epoch != block.epoch || word.read_warp == index) {
      word.read_bytes = static_cast<uint8_t>((word.read_epoch == block.epoch ? word.read_bytes : 0) | mask);
      word.read_epoch = block.epoch;
      word.read_warp = index;
      word.read_strong = strong;
    } else {
      word.read_warp = 0xffff;  // several
      word.read_bytes |= mask;
    }
  }
}

}  // namespace simgpu
