#include <tern/train/progress.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

using tern::train::Progress;

TEST_CASE("a progress line shows share, count, rate, values, time passed and time left") {
  CHECK(Progress::line("epoch 1/2", "images", 500, 2000, 10, "  loss 1.25", 0) ==
        "epoch 1/2:  25% 500/2000 images  50 images/s  loss 1.25  00:10<00:30");
}

TEST_CASE("an unknown total shows the count alone") {
  CHECK(Progress::line("read", "it", 7, 0, 7200, "", 0) == "read: 7 it  0 it/s  2:00:00<--:--");
}

TEST_CASE("a bar fills the room of a terminal, and no line is longer than it") {
  const std::string wide = Progress::line("e", "it", 50, 100, 10, "", 120);
  CHECK(wide.find("[####################....................]") != std::string::npos);
  for (int width = 1; width < 130; ++width) {
    const std::string line = Progress::line("epoch", "images", 50, 100, 10, "  loss 0.5", width);
    CHECK(line.size() <= static_cast<size_t>(std::max(1, width - 1)));
  }
}

namespace {

// A terminal of our own: what is written to terminal() comes out at text().
class Screen {
 public:
  explicit Screen(unsigned short columns) {
    const winsize size{24, columns, 0, 0};
    REQUIRE(::openpty(&screen_, &terminal_, nullptr, nullptr, &size) == 0);
    REQUIRE(::fcntl(screen_, F_SETFL, O_NONBLOCK) == 0);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    ::close(terminal_);
    ::close(screen_);
  }
  int terminal() const { return terminal_; }
  /// All that has been written so far.
  const std::string& text() {
    char buffer[4096];
    for (ssize_t got; (got = ::read(screen_, buffer, sizeof buffer)) > 0;)
      text_.append(buffer, static_cast<size_t>(got));
    return text_;
  }

 private:
  int screen_ = -1, terminal_ = -1;
  std::string text_;
};

// What `body` writes to a file that is no terminal.
std::string written_by(const std::function<void(int descriptor)>& body) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  body(::fileno(file));
  std::rewind(file);
  char buffer[8192];
  std::string text(buffer, std::fread(buffer, 1, sizeof buffer, file));
  std::fclose(file);
  return text;
}

// The lines that are drawn over each other: from a carriage return to the code that clears the rest.
std::vector<std::string> drawn_lines(const std::string& text) {
  std::vector<std::string> lines;
  const std::regex pattern("\r([^\r\n\x1b]*)\x1b\\[K");
  for (auto i = std::sregex_iterator(text.begin(), text.end(), pattern); i != std::sregex_iterator(); ++i)
    lines.push_back((*i)[1]);
  return lines;
}

}  // namespace

TEST_CASE("on a terminal a bar with rate, loss and time left is drawn over and over on one line") {
  Screen screen(150);
  {
    Progress progress("epoch 1/2", int64_t{1} << 40, {.unit = "images", .descriptor = screen.terminal()});
    // Drawn when its time has come, however many updates that takes.
    while (drawn_lines(screen.text()).size() < 3) progress.update(1, {{"loss", 0.25}});
    CHECK(screen.text().find('\n') == std::string::npos);
  }
  const std::vector<std::string> lines = drawn_lines(screen.text());
  REQUIRE(lines.size() >= 4);
  const std::regex expected(
      R"(epoch 1/2: +\d+% \[#*\.*\] \d+/\d+ images  \d+ images/s  loss 0\.25  \d\d:\d\d<[\d:]+)");
  size_t total = 0;
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(std::regex_match(line, expected));
    CHECK(line.size() < 150);
    total += line.size() + std::string("\r\x1b[K").size();
  }
  CHECK(screen.text().size() == total + 2);  // and at the end, once, the terminal's "\r\n"
  CHECK(screen.text().substr(total) == "\r\n");
}

TEST_CASE("on a terminal the last state ends the line, and no line is longer than the terminal") {
  for (const unsigned short columns : {200, 80, 20}) {
    CAPTURE(columns);
    Screen screen(columns);
    Progress progress("epoch", 200, {.unit = "images", .descriptor = screen.terminal()});
    progress.update(150, {{"loss", 2}});
    progress.update(50, {{"loss", 1.5}});
    progress.finish();
    progress.finish();  // once is enough
    const std::vector<std::string> lines = drawn_lines(screen.text());
    REQUIRE(!lines.empty());
    CHECK(lines.back().size() < columns);
    CHECK(lines.back().starts_with("epoch: 100%"));
    if (columns == 200) {
      CHECK(lines.back().find("[########################################] 200/200 images") !=
            std::string::npos);
      CHECK(lines.back().find("  loss 1.5  ") != std::string::npos);
    }
    CHECK(std::count(screen.text().begin(), screen.text().end(), '\n') == 1);
    CHECK(screen.text().ends_with("\x1b[K\r\n"));
  }
}

TEST_CASE("without a terminal there are plain lines, as often as asked for") {
  const std::string text = written_by([](int descriptor) {
    Progress progress("epoch", 300, {.unit = "images", .descriptor = descriptor, .log_interval = 0});
    for (int i = 1; i <= 3; ++i) progress.update(100, {{"loss", 1.0 / i}, {"accuracy", 0.5}});
  });
  const std::regex expected(
      "epoch:  33% 100/300 images  \\d+ images/s  loss 1  accuracy 0\\.5  \\d\\d:\\d\\d<[\\d:-]+\n"
      "epoch:  67% 200/300 images  \\d+ images/s  loss 0\\.5  accuracy 0\\.5  \\d\\d:\\d\\d<[\\d:-]+\n"
      "(epoch: 100% 300/300 images  \\d+ images/s  loss 0\\.3333  accuracy 0\\.5  "
      "\\d\\d:\\d\\d<[\\d:-]+\n){2}");
  INFO(text);
  CHECK(std::regex_match(text, expected));
  const auto is_control = [](char c) { return c != '\n' && static_cast<unsigned char>(c) < ' '; };
  CHECK(std::none_of(text.begin(), text.end(), is_control));
}

TEST_CASE("without a terminal, and before its time, only the last state is written") {
  const std::string text = written_by([](int descriptor) {
    Progress progress("epoch", 3, {.descriptor = descriptor, .log_interval = 1e9});
    for (int i = 1; i <= 3; ++i) progress.update(1, {{"loss", i}});
  });
  INFO(text);
  CHECK(std::regex_match(text, std::regex("epoch: 100% 3/3 it  \\d+ it/s  loss 3  00:\\d\\d<[\\d:-]+\n")));
}

TEST_CASE("a progress that is switched off writes nothing") {
  CHECK(written_by([](int descriptor) {
          Progress progress("epoch", 3, {.enabled = false, .descriptor = descriptor, .log_interval = 0});
          progress.update(3, {{"loss", 1}});
          progress.finish();
        }) == "");
}
