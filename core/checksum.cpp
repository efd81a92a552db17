#include <tern/core/checksum.h>

#include <tern/core/thread_pool.h>

#include <algorithm>
#include <vector>

#include <zlib.h>

namespace tern {

uint32_t crc32(const void* data, size_t bytes, uint32_t before) {
  if (bytes == 0) return before;  // zlib takes a null pointer for a question
  return static_cast<uint32_t>(::crc32_z(before, static_cast<const Bytef*>(data), bytes));
}

uint32_t parallel_crc32(const void* data, size_t bytes) {
  constexpr size_t piece = size_t{4} << 20;
  const size_t count = (bytes + piece - 1) / piece;
  std::vector<uint32_t> parts(count);
  const auto size_of_part = [&](size_t i) { return std::min(piece, bytes - i * piece); };
  parallel_for(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      parts[i] = crc32(static_cast<const char*>(data) + i * piece, size_of_part(i));
  });
  uint32_t result = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<z_off_t>(size_of_part(i));
    result = static_cast<uint32_t>(::crc32_combine(result, parts[i], length));
  }
  return result;
}

}  // namespace tern
