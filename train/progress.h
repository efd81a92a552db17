// The progress of a long loop: one line that is drawn again and again on a terminal, plain lines every few
// seconds in a log.
//
//   train::Progress progress("epoch 1/10", 50000, {.unit = "images"});
//   for (…) progress.update(images.size(0), {{"loss", loss}});
//   progress.finish();
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace tern::train {

struct ProgressOptions {
  std::string unit = "it";   ///< what is counted
  bool enabled = true;       ///< false prints nothing
  int descriptor = 2;        ///< where to: standard error by default
  double log_interval = 10;  ///< seconds between lines where there is no terminal
};

class Progress {
 public:
  /// `total` is the count at the end, or 0 when it is not known.
  Progress(std::string title, int64_t total, const ProgressOptions& options = {});
  /// `count` more are done. Shows the values (a loss) behind the rate; draws at most ten times a second.
  void update(int64_t count, std::initializer_list<std::pair<const char*, double>> values = {});
  /// Shows the last state and ends the line. Called by the destructor if not before.
  void finish();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The line for a given state, at most `width` characters (0: no bar, of any length): what is drawn.
  static std::string line(const std::string& title, const std::string& unit, int64_t done, int64_t total,
                          double seconds, const std::string& values, int width);

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool last);

  std::string title_;
  int64_t total_, done_ = 0;
  ProgressOptions options_;
  bool terminal_, finished_ = false;
  std::string values_;
  Clock::time_point start_, shown_;
};

}  // namespace tern::train
