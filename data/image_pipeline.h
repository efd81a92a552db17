// A chain of image transforms that runs in one pass, from bytes to float32 in channels-last order.
//
// The placing steps end in one Window, the mapping steps in a table of 256 values per channel; so each pixel
// is read once and written once, with the same value, to the bit, as step by step.
#pragma once

#include <tern/data/transforms.h>

#include <optional>

namespace tern::data {

class ImagePipeline {
 public:
  /// The pipeline for source images of uint8 [C, H, W], or nothing when the chain is not of placing steps
  /// followed by at least one mapping step. Throws Error when a step refuses these images.
  static std::optional<ImagePipeline> make(const Compose& chain, const Shape& source);

  /// [C, H, W] of the result.
  const Shape& shape() const { return shape_; }
  /// Draws where the pixels come from and writes the image to `target`: shape() floats, channels closest.
  void write(const uint8_t* source, PhiloxStream& random, float* target) const;

 private:
  ImagePipeline(const Shape& source, const Shape& result, std::vector<Transform> placing,
                std::vector<float> table)
      : source_(source), shape_(result), placing_(std::move(placing)), table_(std::move(table)) {}

  Window place(PhiloxStream& random) const;

  Shape source_, shape_;
  std::vector<Transform> placing_;
  std::vector<float> table_;  // [C, 256]
};

}  // namespace tern::data
