#include <tern/train/progress.h>

#include <doctest/doctest.h>

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
