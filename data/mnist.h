// MNIST and its likes (Fashion-MNIST, KMNIST) from IDX files, plain or compressed with gzip.
#pragma once

#include <tern/data/cifar10.h>

namespace tern::data {

/// An IDX file of bytes: its array, of uint8. Throws IoError naming the file when it is no such file, holds
/// another type or more than 8 dimensions, or has fewer or more bytes than its header says. Memory is taken
/// as the bytes come, not as the header promises.
Tensor read_idx(const std::filesystem::path& path);

/// Reads train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-…, each with or without .gz, from
/// `folder`: images [N, 1, H, W], labels 0 to 9. Throws IoError naming the file when one is missing, is what
/// read_idx() refuses, has other dimensions or a label above 9, or when their counts differ.
ImageDataset mnist(const std::filesystem::path& folder, const ImageOptions& options = {});

}  // namespace tern::data
