// What interchange.py calls: Tern's side of the exchange with NumPy (and PyTorch), as C functions.
#include <tern/core/dlpack.h>
#include <tern/core/npy.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/pointwise.h>

#include <cstdio>

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

/// Reads one .npy file and writes what it holds to another; 0, or 1 when it fails.
int copy_npy(const char* from, const char* to) {
  try {
    save_npy(to, load_npy(from));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
}
