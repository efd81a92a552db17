#include <tern/data/lines.h>

#include <cstring>

namespace tern::data {
namespace {

constexpr size_t buffer_bytes = size_t{1} << 16;
constexpr const char* byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(const std::filesystem::path& path) : file_(path), buffer_(buffer_bytes) {
  if (fill() && end_ >= 3 && std::memcmp(buffer_.data(), byte_order_mark, 3) == 0) at_ = 3;
}

bool LineReader::fill() {
  at_ = 0;
  end_ = static_cast<size_t>(file_.read(buffer_.data(), static_cast<int64_t>(buffer_.size())));
  return end_ > 0;
}

bool LineReader::next_raw(std::string& line) {
  line.clear();
  if (at_ == end_ && !fill()) return false;
  ++number_;
  do {
    const char* from = buffer_.data() + at_;
    const auto* stop = static_cast<const char*>(std::memchr(from, '\n', end_ - at_));
    line.append(from, stop ? static_cast<size_t>(stop - from) : end_ - at_);
    at_ = stop ? static_cast<size_t>(stop - buffer_.data()) + 1 : end_;
    if (stop) break;
  } while (fill());
  return true;
}

bool LineReader::next(std::string& line) {
  if (!next_raw(line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace tern::data
