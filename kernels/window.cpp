#include <tern/kernels/window.h>

#include <algorithm>
#include <limits>
#include <ostream>

namespace tern {

std::ostream& operator<<(std::ostream& out, const Size2& size) {
  return out << '(' << size.h << ", " << size.w << ')';
}

namespace kernels {
namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max(), largest_image = int64_t{1} << 61;

bool within(Size2 size, int64_t least) {
  return size.h >= least && size.w >= least && size.h <= most && size.w <= most;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t count(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
              bool ceil_mode) {
  const int64_t reach = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  if (reach < 0) return 0;
  const int64_t windows = reach / stride + 1;
  const bool is_last_outside = ceil_mode && (windows - 1) * stride >= size + padding;
  return is_last_outside ? windows - 1 : windows;
}

}  // namespace

void check_windows(const char* operation, const Windows& w) {
  check(within(w.kernel, 1), operation, ": kernel must be from 1 to 2^31 - 1, got ", w.kernel);
  check(within(w.stride, 1), operation, ": stride must be from 1 to 2^31 - 1, got ", w.stride);
  check(within(w.padding, 0), operation, ": padding must be from 0 to 2^31 - 1, got ", w.padding);
  check(within(w.dilation, 1), operation, ": dilation must be from 1 to 2^31 - 1, got ", w.dilation);
}

void check_pool_padding(const char* operation, const Windows& w) {
  check(w.padding.h <= ((w.kernel.h - 1) * w.dilation.h + 1) / 2 &&
            w.padding.w <= ((w.kernel.w - 1) * w.dilation.w + 1) / 2,
        operation, ": padding must be at most half of the kernel ", w.kernel, " with its dilation, got ",
        w.padding);
}

Size2 count_windows(const char* operation, Size2 image, const Windows& w, bool ceil_mode) {
  check(image.h <= largest_image && image.w <= largest_image, operation, ": an image of ", image,
        " is too large");
  const Size2 counts{count(image.h, w.kernel.h, w.stride.h, w.padding.h, w.dilation.h, ceil_mode),
                     count(image.w, w.kernel.w, w.stride.w, w.padding.w, w.dilation.w, ceil_mode)};
  check(counts.h >= 1 && counts.w >= 1, operation, ": input of ", image, " with padding ", w.padding,
        " is smaller than the kernel ", w.kernel, " with dilation ", w.dilation);
  return counts;
}

Taps Taps::inside(int64_t start, int64_t size, int64_t kernel, int64_t dilation) {
  const int64_t first = start < 0 ? divide_up(-start, dilation) : 0;
  const int64_t last = start < size ? std::min(kernel, divide_up(size - start, dilation)) : 0;
  return {first, std::max(first, last)};
}

}  // namespace kernels
}  // namespace tern
