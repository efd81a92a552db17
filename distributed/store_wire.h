// What the TCP store's client and server say to each other.
//
// A message is its length (4 bytes, little-endian, not counting themselves), one byte that says what it is,
// and fields: numbers of 8 bytes, texts of a length (4 bytes) and so many bytes. The first message of a
// connection is a hello: `magic`, the job, the client's number. Not part of the public interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::distributed::wire {

constexpr std::string_view magic = "tern store 1";
constexpr size_t length_bytes = 4;
constexpr size_t longest_message = size_t{16} << 20;
constexpr size_t longest_hello = 4096;

enum class Request : char {
  hello = 'H',
  set = 'S',
  find = 'F',
  add = 'A',
  claim = 'C',
  erase = 'E',
  wait = 'W'
};
enum class Reply : char { done = 'd', nothing = 'n', failed = 'f', other_job = 'j' };

/// A message in the making.
template <class Kind>
class Message {
 public:
  explicit Message(Kind kind) : bytes_(length_bytes, '\0') { bytes_ += static_cast<char>(kind); }

  Message& number(int64_t value) { return raw(static_cast<uint64_t>(value), 8); }
  Message& text(std::string_view value) {
    raw(value.size(), 4);
    bytes_ += value;
    return *this;
  }
  /// The message with its length in front.
  std::string bytes() const {
    std::string result = bytes_;
    const size_t length = bytes_.size() - length_bytes;
    for (size_t i = 0; i < length_bytes; ++i) result[i] = static_cast<char>(length >> (8 * i));
    return result;
  }

 private:
  Message& raw(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }

  std::string bytes_;
};

/// The first `count` bytes of `bytes` as a number.
inline uint64_t read_number(std::string_view bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

/// Takes fields from the front of a message that came. What isn't there makes is_good() false, and every
/// later field 0 or empty.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  int64_t number() { return static_cast<int64_t>(read(8)); }
  std::string_view text() {
    const auto size = static_cast<size_t>(read(4));
    return has(size) ? take(size) : std::string_view();
  }
  bool is_good() const { return good_; }
  bool is_at_end() const { return good_ && rest_.empty(); }

 private:
  bool has(size_t count) {
    good_ = good_ && rest_.size() >= count;
    return good_;
  }
  std::string_view take(size_t count) {
    const std::string_view front = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return front;
  }
  uint64_t read(size_t count) { return has(count) ? read_number(take(count), count) : 0; }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace tern::distributed::wire
