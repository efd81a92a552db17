// CIFAR-10 from its binary format: per image a label byte and 3072 bytes, the planes red, green and blue.
#pragma once

#include <tern/data/image_dataset.h>

#include <filesystem>

namespace tern::data {

/// Which part of a data set to read, and what to do to its images.
struct ImageOptions {
  bool train = true;  ///< the training images, or the test images
  Compose transform = {};
};

/// Reads data_batch_1.bin to data_batch_5.bin, as many as there are from 1 on, or test_batch.bin, from
/// `folder` or from the folder cifar-10-batches-bin in it: images [N, 3, 32, 32], labels 0 to 9, and the
/// class names, from batches.meta.txt where it is there. A file holds 1 to 10,000 images. Throws IoError
/// naming the file for one that is missing, unreadable, of another size, or has a label above 9.
ImageDataset cifar10(const std::filesystem::path& folder, const ImageOptions& options = {});

}  // namespace tern::data
