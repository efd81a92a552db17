#include <tern/train/progress.h>

#include <tern/core/saturate.h>

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tern::train {
namespace {

std::string clock_text(double seconds) {
  const auto whole = saturate<int64_t>(std::max(0.0, seconds) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

int terminal_width(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void write_text(int descriptor, const std::string& text) {
  // A progress line that cannot be shown is no reason to stop the work.
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string title, int64_t total, const ProgressOptions& options)
    : title_(std::move(title)),
      total_(total),
      options_(options),
      terminal_(isatty(options.descriptor) == 1),
      start_(Clock::now()),
      shown_(start_) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t count, std::initializer_list<std::pair<const char*, double>> values) {
  done_ += count;
  if (!options_.enabled) return;
  values_.clear();  // kept even when nothing is drawn now: finish() shows the last ones
  for (const auto& [name, value] : values)
    fmt::format_to(std::back_inserter(values_), "  {} {:.4g}", name, value);
  const std::chrono::duration<double> since = Clock::now() - shown_;
  if (since.count() >= (terminal_ ? 0.1 : options_.log_interval)) show(false);
}

void Progress::finish() {
  if (std::exchange(finished_, true) || !options_.enabled) return;
  show(true);
}

void Progress::show(bool last) {
  shown_ = Clock::now();
  const double seconds = std::chrono::duration<double>(shown_ - start_).count();
  const std::string text = line(title_, options_.unit, done_, total_, seconds, values_,
                                terminal_ ? terminal_width(options_.descriptor) : 0);
  if (!terminal_) return write_text(options_.descriptor, text + "\n");
  write_text(options_.descriptor, "\r" + text + "\033[K" + (last ? "\n" : ""));
}

std::string Progress::line(const std::string& title, const std::string& unit, int64_t done, int64_t total,
                           double seconds, const std::string& values, int width) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const double share = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  const std::string left =
      total > 0 && rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : "--:--";
  std::string counts = total > 0 ? fmt::format("{}/{}", done, total) : fmt::format("{}", done);
  const std::string tail = fmt::format(" {} {}  {:.0f} {}/s{}  {}<{}", counts, unit, rate, unit, values,
                                       clock_text(seconds), left);
  const std::string head = total > 0 ? fmt::format("{}: {:3.0f}%", title, 100 * share) : title + ":";
  if (width == 0) return head + tail;
  std::string bar;
  const int room = width - 1 - static_cast<int>(head.size() + tail.size()) - 3;
  if (total > 0 && room >= 5) {
    const int cells = std::min(room, 40), full = static_cast<int>(share * cells);
    bar = " [" + std::string(static_cast<size_t>(full), '#') +
          std::string(static_cast<size_t>(cells - full), '.') + "]";
  }
  return (head + bar + tail).substr(0, static_cast<size_t>(std::max(1, width - 1)));
}

}  // namespace tern::train
