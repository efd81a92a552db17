// Tensors in files of the safetensors format, which Python's `safetensors` reads and writes too.
//
// A file is a JSON header (names, dtypes, shapes, places) followed by the values. Nothing in it is executed,
// and nothing in it is believed: a file that is damaged, cut off or forged is an IoError before its values
// get any memory. Tensors are saved from and loaded to the CPU. Any thread.
#pragma once

#include <tern/core/tensor.h>

#include <map>
#include <string>

namespace tern {

using TensorMap = std::map<std::string, Tensor>;

/// What a file holds.
struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;
};

struct LoadSafetensorsOptions {
  /// The tensors are the file's own memory, read from the disk as they are touched, and shared by all
  /// processes that map it; writing to one changes a copy. The file must not be changed in place meanwhile
  /// (see FileMapping); replacing it, as save_safetensors() does, is harmless.
  bool memory_map = false;
};

/// Writes `tensors` to `path`, atomically (see write_file_atomically). Returns the file's CRC-32. Equal
/// arguments give equal bytes, those of the Python library: larger elements first, then by name, each tensor
/// in row-major order whatever its strides. Throws IoError when the file cannot be written, and Error for a
/// tensor that is undefined or not on the CPU, and for text that is not UTF-8.
uint32_t save_safetensors(const std::string& path, const TensorMap& tensors,
                          const std::map<std::string, std::string>& metadata = {});

/// Reads all of `path`; the tensors are contiguous. Throws IoError, which says what was expected and what
/// came, for a header over 100,000,000 bytes or beyond the file, for bad or ambiguous JSON (a name given
/// twice), an unknown dtype, a size that does not fit shape and dtype, and for places that overlap, leave
/// gaps or do not end with the file.
Safetensors load_safetensors(const std::string& path, const LoadSafetensorsOptions& options = {});

}  // namespace tern
