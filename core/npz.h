// Tensors in files of NumPy's format .npz: a zip archive of .npy files, as numpy.savez writes and numpy.load
// reads it. Tensors are saved from and loaded to the CPU. Any thread.
#pragma once

#include <tern/core/safetensors.h>

#include <string>

namespace tern {

struct SaveNpzOptions {
  bool compressed = false;  ///< smaller and slower, as numpy.savez_compressed
};

/// Writes `tensors` to `path`, atomically (see write_file_atomically): each as the archive's file "NAME.npy".
/// Equal arguments give equal bytes. Throws IoError when the file cannot be written, and Error as save_npy()
/// does and for a name that is empty or has a NUL.
void save_npz(const std::string& path, const TensorMap& tensors, const SaveNpzOptions& options = {});

/// Reads all arrays of `path`, compressed or not. Throws IoError, which says what was expected and what came,
/// for a file that is no zip archive, is damaged or cut off, holds something else than .npy files, a name
/// twice, or an array that load_npy() would refuse. Memory is taken as the values come, not as a header
/// promises.
TensorMap load_npz(const std::string& path);

}  // namespace tern
