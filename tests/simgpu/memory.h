// The devices' memory. Each device owns a range of addresses that the host may not touch: a host access to a
// device pointer is a segmentation fault, as on a machine with GPUs. The bytes lie at a fixed distance from
// the addresses, and so does a shadow with one byte for each: 1 where the memory was written. Freed addresses
// are never used again, so that what still uses them is found. All functions want the lock of world.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace simgpu {

struct Allocation {
  uint64_t address = 0;
  uint64_t bytes = 0;
  int device = -1;        // -1: pinned host memory
  uint64_t number = 0;    // counts the process's allocations
  const char* call = "";  // which call made it
  bool live = true;
  bool pooled = false;      // by cudaMallocAsync
  bool registered = false;  // by cudaHostRegister
  uint64_t end() const { return address + bytes; }
};

/// Distances from a device address to its bytes and to its shadow.
extern uint64_t bytes_distance, shadow_distance;

/// Bytes of the devices' address ranges; the last range holds the windows of shared and local memory.
constexpr uint64_t address_span = uint64_t{1} << 40;

/// The address of new memory, or 0 where the device has not as much left.
uint64_t allocate(int device, uint64_t bytes, const char* call);

/// Takes host memory into the table of pinned memory.
void pin(void* address, uint64_t bytes, const char* call);

/// The allocation that holds the address, also a freed one; null where there never was any.
Allocation* find_allocation(uint64_t address);
Allocation* find_live(uint64_t address);

/// Ends an allocation: later uses are faults.
void release(Allocation& allocation);

/// Bytes in live allocations of the device.
uint64_t used_memory(int device);

/// The device in whose range the address lies, whether or not anything is allocated there; -1: host memory.
int device_of_address(uint64_t address);

/// The address range of simulated device 0, and where its windows begin.
uint64_t range_of_device(int device);
uint64_t window_base();

inline uint8_t* bytes_at(uint64_t address) { return reinterpret_cast<uint8_t*>(address + bytes_distance); }
inline uint8_t* shadow_at(uint64_t address) { return reinterpret_cast<uint8_t*>(address + shadow_distance); }

/// "allocation 3 (cudaMalloc of 4000 bytes on device 0)", and where the address lies in or beside it.
std::string describe_address(uint64_t address);

/// Every allocation by its address.
const std::map<uint64_t, Allocation>& allocations();

}  // namespace simgpu
