// Transforms of images: values that are composed and handed to an ImageDataset, or called on one image.
//
//   Compose{RandomCrop(32, {.padding = 4}), RandomHorizontalFlip(), ToTensor(), Normalize(mean, std)}
//
// There are three kinds. A *placing* one moves pixels: its place(window, random) changes a Window. A
// *mapping* one gives each value of a channel a new value: map(value, channel), with require(dtype, channels)
// to refuse images. Any other is a function from an image [C, H, W] to an image. A chain of placing
// transforms followed by mapping ones is fused: ImageDataset writes whole batches in one pass over the
// pixels. Every other order gives what its steps say, at the speed of single steps. Transforms are immutable
// and may be called from several threads; chance comes in by the stream alone.
#pragma once

#include <tern/core/random.h>
#include <tern/core/tensor.h>

#include <functional>
#include <initializer_list>
#include <variant>
#include <vector>

namespace tern::data {

/// Which pixels of a source image [C, H, W] an image is made of. Its pixel (y, x) is the source's at
/// (top + y, left + x), or (top + y, left + width - 1 - x) when it is flipped; 0 outside `seen`.
struct Window {
  struct Rectangle {
    int64_t top, left, bottom, right;  // bottom and right lie one beyond
    bool operator==(const Rectangle&) const = default;
  };

  /// The whole of a source image.
  Window(int64_t source_channels, int64_t source_height, int64_t source_width);

  /// Narrows to height x width pixels, starting at (y, x) of this image. Throws Error when it reaches
  /// outside.
  void crop(int64_t y, int64_t x, int64_t crop_height, int64_t crop_width);
  /// Adds `amount` rows and columns of zeros on each side.
  void pad(int64_t amount);

  int64_t channels;  ///< of the image; a source with one channel shows it in all of them
  int64_t height, width;
  int64_t top = 0, left = 0;
  bool flipped = false;
  Rectangle seen;  ///< the part of the source that may be visible
};

/// An image's 8-bit values as float32 from 0 to 1. Throws Error for another dtype. Maps.
struct ToTensor {
  void require(DType dtype, int64_t channels) const;
  float map(float value, int64_t) const { return value / 255.0F; }
};

/// (value - mean[c]) / std[c] for a float32 image. Throws Error for another dtype or number of channels.
/// Maps.
class Normalize {
 public:
  /// Throws Error unless both name the same number of channels and no std is 0.
  Normalize(std::vector<float> mean, std::vector<float> std);
  void require(DType dtype, int64_t channels) const;
  float map(float value, int64_t channel) const {
    const auto c = static_cast<size_t>(channel);
    return (value - mean_[c]) / std_[c];
  }

 private:
  std::vector<float> mean_, std_;
};

/// Adds `amount` rows and columns of zeros on each side. Places.
struct Pad {
  explicit Pad(int64_t amount);
  void place(Window& window, PhiloxStream&) const { window.pad(amount); }
  int64_t amount;
};

/// Shows the one channel of a grey image `count` times. Places.
struct RepeatChannel {
  explicit RepeatChannel(int64_t count);
  /// Throws Error unless the image has one channel.
  void place(Window& window, PhiloxStream&) const;
  int64_t count;
};

struct RandomCropOptions {
  int64_t padding = 0;  ///< zeros added on each side before cropping
};

/// A square of size x size pixels from a random place. Places. Throws Error for an image smaller than it.
class RandomCrop {
 public:
  explicit RandomCrop(int64_t size, const RandomCropOptions& options = {});
  void place(Window& window, PhiloxStream& random) const;

 private:
  int64_t size_;
  RandomCropOptions options_;
};

/// Left and right exchanged, with probability p. Places.
class RandomHorizontalFlip {
 public:
  /// Throws Error unless 0 <= p <= 1.
  explicit RandomHorizontalFlip(double p = 0.5);
  void place(Window& window, PhiloxStream& random) const;

 private:
  double p_;
};

/// One step of a chain: one of the above, or any function from an image to an image, with or without a
/// stream:
///   [](const Tensor& image) { … }      [](const Tensor& image, PhiloxStream& random) { … }
/// An image's strides are those of its source or of channels-last: a function must honour them.
class Transform {
 public:
  struct Placing {
    std::function<void(Window&, PhiloxStream&)> place;
  };
  struct Mapped {
    std::function<void(DType dtype, int64_t channels)>
        require;                                             ///< throws Error for an image of another kind
    std::function<float(float value, int64_t channel)> map;  ///< the result is float32
  };
  using General = std::function<Tensor(const Tensor&, PhiloxStream&)>;

  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Transform>) Transform(T transform)
      : step_(step_of(std::move(transform))) {}

  Tensor operator()(const Tensor& image, PhiloxStream& random) const;
  const std::variant<Placing, Mapped, General>& step() const { return step_; }

 private:
  template <class T>
  static std::variant<Placing, Mapped, General> step_of(T t);

  std::variant<Placing, Mapped, General> step_;
};

/// Transforms one after another.
class Compose {
 public:
  Compose() = default;
  Compose(std::initializer_list<Transform> steps) : steps_(steps) {}
  explicit Compose(std::vector<Transform> steps) : steps_(std::move(steps)) {}

  /// `image` is [C, H, W].
  Tensor operator()(const Tensor& image, PhiloxStream& random) const;
  const std::vector<Transform>& steps() const { return steps_; }

 private:
  std::vector<Transform> steps_;
};

template <class T>
std::variant<Transform::Placing, Transform::Mapped, Transform::General> Transform::step_of(T t) {
  if constexpr (requires(Window & window, PhiloxStream & random) { t.place(window, random); })
    return Placing{[t](Window& window, PhiloxStream& random) { t.place(window, random); }};
  else if constexpr (requires { t.map(0.0F, int64_t{0}); })
    return Mapped{[t](DType dtype, int64_t channels) { t.require(dtype, channels); },
                  [t](float value, int64_t channel) { return t.map(value, channel); }};
  else if constexpr (std::is_invocable_r_v<Tensor, const T&, const Tensor&, PhiloxStream&>)
    return General(std::move(t));
  else
    return General([t = std::move(t)](const Tensor& image, PhiloxStream&) -> Tensor { return t(image); });
}

}  // namespace tern::data
