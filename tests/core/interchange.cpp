// What interchange.py calls: Tern's side of the exchange with NumPy, safetensors and PyTorch, as C functions.
#include <tern/core/dlpack.h>
#include <tern/core/npy.h>
#include <tern/core/npz.h>
#include <tern/core/safetensors.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>

#include <cstdio>
#include <string>

using namespace tern;

extern "C" {

/// A tensor over the memory of `from`, transposed: the same memory goes out again. Null when it is refused.
DLManagedTensor* transposed(DLManagedTensor* from) {
  try {
    const Tensor x = from_dlpack(from);
    return to_dlpack(x.with_layout(x.layout().transpose(0, -1)));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

/// Reads one file and writes what it holds to another, both of the format that `how` names; 0, or 1 when it
/// fails.
int copy_file(const char* how, const char* from, const char* to) {
  try {
    const std::string format = how;
    if (format == "npy") save_npy(to, load_npy(from));
    if (format == "npz") save_npz(to, load_npz(from));
    if (format == "npz compressed") save_npz(to, load_npz(from), {.compressed = true});
    if (format.starts_with("safetensors")) {
      const Safetensors file = load_safetensors(from, {.memory_map = format == "safetensors mapped"});
      save_safetensors(to, file.tensors, file.metadata);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
}
