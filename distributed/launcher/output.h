// What the ranks write, on its way to the terminal or to whatever reads ternrun's output.
//
// Each line gets its rank in front. A line is written when it is whole; of a line that a carriage return
// overwrites (progress bars), what stood there last. Only the first rank's unfinished line shows while it
// grows, and only on a terminal. Nothing here ever waits: text queues up, and where the queue is full, ranks
// have to wait.
#pragma once

#include <tern/distributed/socket.h>

#include <array>
#include <deque>
#include <string>
#include <string_view>

namespace tern::distributed::launcher {

/// ternrun's own standard output (1) and standard error (2).
class Screen {
 public:
  Screen();
  /// Writes a whole line to `stream`.
  void line(int stream, std::string_view text);
  /// Shows `text` as the unfinished line at the screen's end, where `stream` is a terminal; empty: none.
  void unfinished(int stream, std::string_view text);

  /// Whether `stream` has text to be written, and so much that nobody should add to it.
  bool has_text(int stream) const { return !queue(stream).empty(); }
  bool is_full() const { return queue(1).size() + queue(2).size() > size_t{1} << 18; }
  /// Writes a piece that goes without waiting, if poll() says that `stream` takes it. Where writing fails,
  /// the text is lost and the ranks go on.
  void write_some(int stream);
  /// Why text for `stream` was lost, as in errno, or 0. Readers that went away (`| head`, a closed
  /// terminal) do not count.
  int failure(int stream) const { return failures_[static_cast<size_t>(stream - 1)]; }
  /// Writes all that is left; waits, but not for ever.
  void finish(Duration patience);

 private:
  const std::string& queue(int stream) const { return queues_[static_cast<size_t>(stream - 1)]; }
  std::string& queue(int stream) { return queues_[static_cast<size_t>(stream - 1)]; }

  std::array<std::string, 2> queues_;
  std::array<bool, 2> is_terminal_;
  std::array<int, 2> failures_{};
  std::string shown_;  // the unfinished line
  int shown_on_ = 1;
};

/// One of the two streams of a rank.
class RankStream {
 public:
  /// Reads from `pipe`; not blocking. `prefix` begins each line. `tail`, shared by a rank's streams, keeps
  /// the last lines.
  RankStream(Socket pipe, int stream, std::string prefix, bool shows_unfinished, Screen& screen,
             std::deque<std::string>& tail);

  int descriptor() const { return pipe_.get(); }
  bool is_open() const { return static_cast<bool>(pipe_); }
  /// Reads what is there. false when nothing was.
  bool read_some();
  /// The end: what is left is a line, too.
  void finish();

 private:
  void take(std::string_view text);
  void end_line();

  Socket pipe_;
  int stream_;
  std::string prefix_, partial_;
  bool shows_unfinished_;
  Screen& screen_;
  std::deque<std::string>& tail_;
};

/// The last lines, ten at most, of a text.
std::deque<std::string> last_lines(std::string_view text);

constexpr size_t tail_lines = 10;

}  // namespace tern::distributed::launcher
