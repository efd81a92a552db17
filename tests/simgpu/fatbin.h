// The container that nvcc puts device code into: entries for several architectures, as machine code or PTX,
// usually compressed.
#pragma once

#include <string>

namespace simgpu {

/// The PTX for the newest architecture that is not above `capability` (80, 90…); empty if there is none.
/// `wrapper` is what __cudaRegisterFatBinary gets. Sets `architecture` to that of the PTX.
std::string find_ptx(const void* wrapper, int capability, int& architecture);

}  // namespace simgpu
