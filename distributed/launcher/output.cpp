#include <tern/distributed/launcher/output.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace tern::distributed::launcher {
namespace {

constexpr size_t longest_line = 65536;
constexpr const char* erase_line = "\r\x1b[K";

// What a terminal would show of a line with carriage returns.
std::string_view visible(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const size_t start = line.rfind('\r');
  return start == line.npos ? line : line.substr(start + 1);
}

}  // namespace

Screen::Screen() : is_terminal_{::isatty(1) == 1, ::isatty(2) == 1} {}

void Screen::line(int stream, std::string_view text) {
  if (!shown_.empty()) queue(shown_on_) += erase_line;
  queue(stream) += text;
  if (text.find('\x1b') != text.npos) queue(stream) += "\x1b[0m";  // one rank's colour is not the next one's
  queue(stream) += '\n';
  if (!shown_.empty()) queue(shown_on_) += shown_;
}

void Screen::unfinished(int stream, std::string_view text) {
  if (!is_terminal_[static_cast<size_t>(stream - 1)] || text == shown_) return;
  queue(stream) += erase_line;
  queue(stream) += text;
  shown_ = text;
  shown_on_ = stream;
}

// A pipe that poll() calls writable takes PIPE_BUF bytes without waiting.
void Screen::write_some(int stream) {
  std::string& text = queue(stream);
  const ssize_t written = ::write(stream, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
  if (written > 0) text.erase(0, static_cast<size_t>(written));
  if (written >= 0 || errno == EINTR || errno == EAGAIN) return;
  text.clear();
  const auto i = static_cast<size_t>(stream - 1);
  if (errno != EPIPE && !is_terminal_[i]) failures_[i] = errno;
}

void Screen::finish(Duration patience) {
  const Deadline deadline(patience);
  for (const int stream : {1, 2}) {
    pollfd entry{stream, POLLOUT, 0};
    while (has_text(stream) && ::poll(&entry, 1, deadline.poll_time()) > 0) write_some(stream);
  }
}

RankStream::RankStream(Socket pipe, int stream, std::string prefix, bool shows_unfinished, Screen& screen,
                       std::deque<std::string>& tail)
    : pipe_(std::move(pipe)),
      stream_(stream),
      prefix_(std::move(prefix)),
      shows_unfinished_(shows_unfinished),
      screen_(screen),
      tail_(tail) {
  ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
}

bool RankStream::read_some() {
  if (!pipe_) return false;
  char buffer[65536];
  const ssize_t got = ::read(pipe_.get(), buffer, sizeof buffer);
  if (got > 0) take({buffer, static_cast<size_t>(got)});
  if (got == 0) finish();
  return got > 0;
}

void RankStream::take(std::string_view text) {
  for (size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    partial_ += text.substr(0, end);
    end_line();
  }
  partial_ += text;
  if (partial_.size() > longest_line) partial_ = visible(partial_);
  while (partial_.size() > longest_line) {
    const std::string rest = partial_.substr(longest_line);
    partial_.resize(longest_line);
    end_line();
    partial_ = rest;
  }
  if (shows_unfinished_ && !partial_.empty())
    screen_.unfinished(stream_, prefix_ + std::string(visible(partial_)));
}

void RankStream::end_line() {
  const std::string line(visible(partial_));
  partial_.clear();
  if (shows_unfinished_) screen_.unfinished(stream_, "");
  screen_.line(stream_, prefix_ + line);
  tail_.push_back(line);
  if (tail_.size() > tail_lines) tail_.pop_front();
}

void RankStream::finish() {
  if (!partial_.empty()) end_line();
  pipe_ = Socket();
}

std::deque<std::string> last_lines(std::string_view text) {
  std::deque<std::string> lines;
  while (!text.empty() && lines.size() < tail_lines) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const size_t start = text.rfind('\n') + 1;  // 0 where there is none
    lines.emplace_front(visible(text.substr(start)));
    text = text.substr(0, start);
  }
  return lines;
}

}  // namespace tern::distributed::launcher
