// What this build of the library contains, as constants that `if constexpr` can test.
#pragma once

namespace tern {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
/// True under the address or the thread sanitizer: memory is then given back to the system at once, so that
/// they see each use after free.
inline constexpr bool sanitized = false;
#endif

#ifdef TERN_WITH_CUDA
inline constexpr bool built_with_cuda = true;
#else
/// True when the CUDA kernels are part of this build.
inline constexpr bool built_with_cuda = false;
#endif

}  // namespace tern
