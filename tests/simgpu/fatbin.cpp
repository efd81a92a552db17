#include <tern/tests/simgpu/fatbin.h>
#include <tern/tests/simgpu/report.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>

namespace simgpu {
namespace {

constexpr int wrapper_magic = 0x466243b1;
constexpr uint32_t data_magic = 0xba55ed50;
constexpr uint16_t kind_ptx = 1;
constexpr uint64_t is_zstd = 0x8000, is_lz4 = 0x2000;

struct Wrapper {
  int magic, version;
  const uint8_t* data;
};

struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;
};

/// One entry; the payload follows `header_bytes` after its start.
struct Entry {
  uint16_t kind, unknown;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes, unknown2;
  uint16_t minor, major;
  uint32_t architecture;
  uint64_t unknown3, flags, unknown4, uncompressed_bytes;
};
static_assert(sizeof(Entry) == 64 && sizeof(Header) == 16);

std::string decompress(const Entry& entry, const uint8_t* payload) {
  if ((entry.flags & is_lz4) != 0)
    give_up("device code compressed with LZ4: build without -compress-mode=speed");
  if ((entry.flags & is_zstd) == 0) {
    return std::string(reinterpret_cast<const char*>(payload), entry.payload_bytes);
  }
  std::string text(entry.uncompressed_bytes, '\0');
  const size_t bytes = ZSTD_decompress(text.data(), text.size(), payload, entry.compressed_bytes);
  if (ZSTD_isError(bytes) != 0U || bytes != text.size()) give_up("device code that can't be decompressed");
  return text;
}

}  // namespace

std::string find_ptx(const void* pointer, int capability, int& architecture) {
  const auto* wrapper = static_cast<const Wrapper*>(pointer);
  Header header;
  if (wrapper->magic != wrapper_magic) give_up("a fat binary of an unknown kind");
  std::memcpy(&header, wrapper->data, sizeof header);
  if (header.magic != data_magic) give_up("a fat binary of an unknown kind");
  const uint8_t* at = wrapper->data + header.header_bytes;
  const uint8_t* const end = at + header.bytes;
  std::string text;
  architecture = 0;
  while (at < end) {
    Entry entry;
    std::memcpy(&entry, at, sizeof entry);
    const auto target = static_cast<int>(entry.architecture);
    if (entry.kind == kind_ptx && target > architecture && target <= capability) {
      architecture = target;
      text = decompress(entry, at + entry.header_bytes);
    }
    at += entry.header_bytes + entry.payload_bytes;
  }
  return text;
}

}  // namespace simgpu
