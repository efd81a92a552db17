// CRC-32, the checksum of zip and gzip (polynomial 0xEDB88320): finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern {

/// The checksum of some bytes, that of all bytes before them being `before` (0: there are none). Any thread.
uint32_t crc32(const void* data, size_t bytes, uint32_t before = 0);

/// The same, by the threads of the pool: for large memory.
uint32_t parallel_crc32(const void* data, size_t bytes);

}  // namespace tern
