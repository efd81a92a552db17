// Where the windows of convolution and pooling lie: along each dimension, window i starts at i * stride -
// padding, and its taps are `dilation` apart.
#pragma once

#include <tern/core/error.h>

#include <cstdint>
#include <iosfwd>

namespace tern {

/// A height and a width; one number means both.
struct Size2 {
  int64_t h = 0, w = 0;
  constexpr Size2(int64_t both) : h(both), w(both) {}
  constexpr Size2(int both) : h(both), w(both) {}
  constexpr Size2(int64_t height, int64_t width) : h(height), w(width) {}
  bool operator==(const Size2&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Size2& size);

namespace kernels {

struct Windows {
  Size2 kernel, stride, padding, dilation = 1;
};

/// Throws Error naming `operation` unless kernel, stride and dilation are from 1, and padding from 0, to 2^31
/// - 1: positions then need no look at overflow.
void check_windows(const char* operation, const Windows& windows);

/// Throws Error naming `operation` when the padding is more than half of what a kernel with its dilation
/// spans: at dilation 1 each window of a pooling then meets the image. Windows have been checked.
void check_pool_padding(const char* operation, const Windows& windows);

/// How many windows an image of this size has; with `ceil_mode` the number is rounded up, as long as the last
/// window starts inside the image or the padding before it. Throws Error naming `operation` when there is
/// none.
Size2 count_windows(const char* operation, Size2 image, const Windows& windows, bool ceil_mode = false);

/// The taps [first, last) of a window's row or column that lie inside an image of `size`.
struct Taps {
  int64_t first, last;
  static Taps inside(int64_t start, int64_t size, int64_t kernel, int64_t dilation);
};

}  // namespace kernels
}  // namespace tern
