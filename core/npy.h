// Tensors in files of NumPy's format .npy: one array a file, as numpy.save writes and numpy.load reads it.
//
// The format is that of NumPy's documentation (numpy.lib.format, versions 1.0 to 3.0). Tensors are saved from
// and loaded to the CPU. Any thread.
#pragma once

#include <tern/core/tensor.h>

#include <string>

namespace tern {

/// Writes `x` to `path` in row-major order, atomically (see write_file_atomically). Throws IoError when the
/// file cannot be written, and Error for a tensor that is undefined, not on the CPU, or bfloat16, which NumPy
/// does not know.
void save_npy(const std::string& path, const Tensor& x);

/// Reads the array of `path`. One in Fortran order keeps it in its strides. Throws IoError, which says what
/// was expected and what came, for a damaged, cut off or oversized file, and for element types that Tern does
/// not have (complex, strings, structures, objects, other integers, big-endian numbers).
Tensor load_npy(const std::string& path);

}  // namespace tern
