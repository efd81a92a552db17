// DLPack: tensors that change hands between frameworks in one process without a copy.
//
// The structures are those of <dlpack/dlpack.h> (dmlc/dlpack, the unversioned DLManagedTensor that NumPy,
// PyTorch, JAX and CuPy exchange as the Python capsule "dltensor"). Tensors on the CPU.
#pragma once

#include <tern/core/tensor.h>

struct DLManagedTensor;

namespace tern {

/// Hands `x` out: the result shares its memory and keeps it alive until whoever takes it calls its deleter.
/// Throws Error for a tensor that is undefined or that requires a gradient, which would be lost (detach()
/// it).
DLManagedTensor* to_dlpack(const Tensor& x);

/// A tensor over the memory of `managed`, whose deleter is called when the last handle and view are gone, on
/// whichever thread that is. Throws Error, and leaves `managed` to the caller, when it is null, on another
/// device than the CPU, of elements that Tern does not have, with more than 8 dimensions, or with a negative
/// stride.
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace tern
