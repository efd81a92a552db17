#include <tern/data/transforms.h>

#include <algorithm>

namespace tern::data {
namespace {

// A new image [C, H, W] with the strides of channels-last.
Tensor empty_image(int64_t channels, int64_t height, int64_t width, DType dtype) {
  return empty_strided({channels, height, width}, {1, width * channels, channels}, dtype, {});
}

void check_image(const Tensor& image) {
  check(image.dim() == 3 && image.device().is_cpu(), "transform: needs an image [C, H, W] on the CPU, got ",
        image.shape(), " on ", image.device());
}

// Calls body(c, y, x) for every pixel of every channel.
template <class Body>
void for_each_pixel(const Shape& shape, Body body) {
  for (int64_t y = 0; y < shape[1]; ++y) {
    for (int64_t x = 0; x < shape[2]; ++x) {
      for (int64_t c = 0; c < shape[0]; ++c) body(c, y, x);
    }
  }
}

int64_t at(const Strides& strides, int64_t c, int64_t y, int64_t x) {
  return c * strides[0] + y * strides[1] + x * strides[2];
}

Tensor cut(const Tensor& image, const Window& window) {
  const Tensor result = empty_image(window.channels, window.height, window.width, image.dtype());
  const Strides& from = image.strides();
  const Strides& to = result.strides();
  const int64_t source_channels = image.shape()[0];
  dispatch(image.dtype(), [&]<class T>() {
    const T* source = image.data<T>();
    T* target = result.data<T>();
    for_each_pixel(result.shape(), [&](int64_t c, int64_t y, int64_t x) {
      const int64_t sy = window.top + y;
      const int64_t sx = window.left + (window.flipped ? window.width - 1 - x : x);
      const Window::Rectangle& seen = window.seen;
      const bool inside = sy >= seen.top && sy < seen.bottom && sx >= seen.left && sx < seen.right;
      const int64_t sc = source_channels == 1 ? 0 : c;
      target[at(to, c, y, x)] = inside ? source[at(from, sc, sy, sx)] : T();
    });
  });
  return result;
}

Tensor map_values(const Tensor& image, const Transform::Mapped& mapped) {
  const Shape& shape = image.shape();
  const Tensor result = empty_image(shape[0], shape[1], shape[2], float32);
  const Strides& from = image.strides();
  const Strides& to = result.strides();
  float* target = result.data<float>();
  dispatch(image.dtype(), [&]<class T>() {
    const T* source = image.data<T>();
    for_each_pixel(shape, [&](int64_t c, int64_t y, int64_t x) {
      target[at(to, c, y, x)] = mapped.map(static_cast<float>(source[at(from, c, y, x)]), c);
    });
  });
  return result;
}

int64_t draw(int64_t choices, PhiloxStream& random) {
  return choices == 1 ? 0 : static_cast<int64_t>(random.below(static_cast<uint64_t>(choices)));
}

}  // namespace

Window::Window(int64_t source_channels, int64_t source_height, int64_t source_width)
    : channels(source_channels),
      height(source_height),
      width(source_width),
      seen{0, 0, source_height, source_width} {}

void Window::crop(int64_t y, int64_t x, int64_t crop_height, int64_t crop_width) {
  check(y >= 0 && x >= 0 && crop_height >= 1 && crop_width >= 1 && y + crop_height <= height &&
            x + crop_width <= width,
        "crop: ", crop_height, " x ", crop_width, " pixels at (", y, ", ", x, ") of an image of ", height,
        " x ", width);
  top += y;
  left += flipped ? width - x - crop_width : x;
  height = crop_height, width = crop_width;
}

// What lies beyond this window is hidden for good, also where the source has pixels there.
void Window::pad(int64_t amount) {
  seen = {std::max(seen.top, top), std::max(seen.left, left), std::min(seen.bottom, top + height),
          std::min(seen.right, left + width)};
  top -= amount, left -= amount;
  height += 2 * amount, width += 2 * amount;
}

void ToTensor::require(DType dtype, int64_t) const {
  check(dtype == uint8, "ToTensor: needs an image of uint8, got ", dtype);
}

Normalize::Normalize(std::vector<float> mean, std::vector<float> std)
    : mean_(std::move(mean)), std_(std::move(std)) {
  check(!mean_.empty() && mean_.size() == std_.size(), "Normalize: ", mean_.size(), " means and ",
        std_.size(), " standard deviations");
  check(std::find(std_.begin(), std_.end(), 0.0F) == std_.end(), "Normalize: a standard deviation is 0");
}

void Normalize::require(DType dtype, int64_t channels) const {
  check(dtype == float32, "Normalize: needs an image of float32 (ToTensor comes before it), got ", dtype);
  check(channels == static_cast<int64_t>(mean_.size()), "Normalize: ", mean_.size(),
        " means for an image of ", channels, " channels");
}

Pad::Pad(int64_t width) : amount(width) {
  check(width >= 0, "Pad: needs an amount of 0 or more, got ", width);
}

RepeatChannel::RepeatChannel(int64_t times) : count(times) {
  check(times >= 1, "RepeatChannel: needs a count of 1 or more, got ", times);
}

void RepeatChannel::place(Window& window, PhiloxStream&) const {
  check(window.channels == 1, "RepeatChannel: needs an image of 1 channel, got ", window.channels);
  window.channels = count;
}

RandomCrop::RandomCrop(int64_t size, const RandomCropOptions& options) : size_(size), options_(options) {
  check(size >= 1 && options.padding >= 0, "RandomCrop: size ", size, " with padding ", options.padding);
}

void RandomCrop::place(Window& window, PhiloxStream& random) const {
  if (options_.padding > 0) window.pad(options_.padding);
  const int64_t rows = window.height - size_ + 1, columns = window.width - size_ + 1;
  check(rows >= 1 && columns >= 1, "RandomCrop: ", size_, " x ", size_, " pixels from an image of ",
        window.height, " x ", window.width, ", padding included");
  const int64_t y = draw(rows, random), x = draw(columns, random);
  window.crop(y, x, size_, size_);
}

RandomHorizontalFlip::RandomHorizontalFlip(double p) : p_(p) {
  check(p >= 0 && p <= 1, "RandomHorizontalFlip: needs a probability from 0 to 1, got ", p);
}

void RandomHorizontalFlip::place(Window& window, PhiloxStream& random) const {
  window.flipped ^= random.uniform() < p_;
}

Tensor Transform::operator()(const Tensor& image, PhiloxStream& random) const {
  check_image(image);
  if (const auto* general = std::get_if<General>(&step_)) return (*general)(image, random);
  if (const auto* mapped = std::get_if<Mapped>(&step_)) {
    mapped->require(image.dtype(), image.shape()[0]);
    return map_values(image, *mapped);
  }
  const Shape& shape = image.shape();
  Window window(shape[0], shape[1], shape[2]);
  std::get<Placing>(step_).place(window, random);
  return cut(image, window);
}

Tensor Compose::operator()(const Tensor& image, PhiloxStream& random) const {
  Tensor result = image;
  for (const Transform& step : steps_) result = step(result, random);
  return result;
}

}  // namespace tern::data
