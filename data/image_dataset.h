// Labelled images in memory, as bytes, with transforms that run when a sample is asked for.
//
// CIFAR-10 and MNIST are read into it (cifar10.h, mnist.h). Copying shares the images. A loader has it write
// whole batches where the transforms allow (transforms.h): hundreds of thousands of images a second per
// thread.
#pragma once

#include <tern/data/batch_writer.h>
#include <tern/data/image_pipeline.h>
#include <tern/data/transforms.h>

#include <optional>
#include <string>
#include <vector>

namespace tern::data {

class ImageDataset {
 public:
  /// `images` is [N, C, H, W] of uint8, contiguous; `labels` [N] of int64. Without a transform samples are
  /// bytes. Throws Error when images, labels and transform do not fit together.
  ImageDataset(Tensor images, Tensor labels, Compose transform = {}, std::vector<std::string> classes = {});

  int64_t size() const { return labels_.numel(); }
  /// An image [C, H, W] as the transforms leave it, and its label. Throws Error
  /// for an index outside.
  Example get(int64_t index, PhiloxStream& random) const;
  /// The batch's images [N, C, H, W], channels-last, and labels [N]: the values that get() gives.
  void get_batch(BatchWriter& batch) const;

  const Tensor& images() const { return images_; }
  const Tensor& labels() const { return labels_; }
  const Compose& transform() const { return transform_; }
  /// The names of labels 0, 1, …, or none.
  const std::vector<std::string>& classes() const { return classes_; }
  /// The first `count` images, with the same transform. Throws Error when there are fewer.
  ImageDataset take(int64_t count) const;
  /// The same images with other transforms.
  ImageDataset with(Compose transform) const { return {images_, labels_, std::move(transform), classes_}; }

 private:
  Tensor images_, labels_;
  Compose transform_;
  std::vector<std::string> classes_;
  std::optional<ImagePipeline> pipeline_;
};

}  // namespace tern::data
