// Copies and fills. The asynchronous ones with pinned memory happen when their turn comes; pageable memory is
// read or written before the call returns, as CUDA does.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/access.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/library.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/streams.h>

#include <cstring>

using namespace simgpu;

namespace {

bool is_pinned(const void* pointer) { return find_live(reinterpret_cast<uint64_t>(pointer)) != nullptr; }

bool kind_fits(cudaMemcpyKind kind, const void* to, const void* from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return is_host(to) && is_host(from);
    case cudaMemcpyHostToDevice:
      return !is_host(to) && is_host(from);
    case cudaMemcpyDeviceToHost:
      return is_host(to) && !is_host(from);
    case cudaMemcpyDeviceToDevice:
      // Pinned memory is in the devices' address space.
      return (!is_host(to) || is_pinned(to)) && (!is_host(from) || is_pinned(from));
    default:
      return kind == cudaMemcpyDefault;
  }
}

cudaError_t check_copy(const void* to, const void* from, const CopyShape& shape, cudaMemcpyKind kind) {
  if (!kind_fits(kind, to, from)) return cudaErrorInvalidMemcpyDirection;
  const cudaError_t error = check_range(to, shape.width, shape.height, shape.to_pitch);
  return error != cudaSuccess ? error : check_range(from, shape.width, shape.height, shape.from_pitch);
}

/// The source's bytes as they are now, close together.
std::shared_ptr<std::vector<uint8_t>> snapshot(const void* from, const CopyShape& shape) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(shape.width * shape.height);
  for (size_t row = 0; row < shape.height; ++row) {
    const uint8_t* source = static_cast<const uint8_t*>(from) + row * shape.from_pitch;
    std::memcpy(bytes->data() + row * shape.width, source, shape.width);
  }
  return bytes;
}

enum class Wait { no, yes };

cudaError_t copy_on(Stream* stream, void* to, const void* from, CopyShape shape, cudaMemcpyKind kind,
                    Wait wait) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (capture_forbids_legacy(*stream)) return cudaErrorStreamCaptureImplicit;
  if (shape.width == 0 || shape.height == 0) return cudaSuccess;
  if (const cudaError_t error = check_copy(to, from, shape, kind); error != cudaSuccess) return error;
  const bool host_to = is_host(to), host_from = is_host(from);
  if (stream->capture != nullptr || wait == Wait::no) {
    if (host_from && !is_pinned(from) && stream->capture == nullptr) {
      auto bytes = snapshot(from, shape);
      shape.from_pitch = shape.width;
      Work work = copy_work(to, bytes->data(), shape, stream->device);
      work.parameters = std::move(bytes);
      enqueue_work(*stream, std::move(work));
    } else {
      enqueue_work(*stream, copy_work(to, from, shape, stream->device));
    }
    const bool returns_late = host_to && !is_pinned(to) && stream->capture == nullptr;
    return returns_late ? synchronize_stream(*stream) : cudaSuccess;
  }
  enqueue_work(*stream, copy_work(to, from, shape, stream->device));
  // A copy between devices is queued only.
  return host_to || host_from ? synchronize_stream(*stream) : cudaSuccess;
}

cudaError_t fill_on(Stream* stream, void* to, int value, size_t value_bytes, CopyShape shape) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (capture_forbids_legacy(*stream)) return cudaErrorStreamCaptureImplicit;
  if (shape.width == 0 || shape.height == 0) return cudaSuccess;
  if (is_host(to) && !is_pinned(to)) return cudaErrorInvalidValue;
  const cudaError_t error = check_range(to, shape.width, shape.height, shape.to_pitch);
  if (error != cudaSuccess) return error;
  enqueue_work(*stream, fill_work(to, value, value_bytes, shape, stream->device));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api("cudaMemcpy", [&] { return copy_on(find_stream(nullptr), to, from, {bytes}, kind, Wait::yes); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api("cudaMemcpyAsync",
             [&] { return copy_on(find_stream(stream), to, from, {bytes}, kind, Wait::no); });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  const CopyShape shape{width, height, to_pitch, from_pitch};
  if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidPitchValue);
  return api("cudaMemcpy2D", [&] { return copy_on(find_stream(nullptr), to, from, shape, kind, Wait::yes); });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const CopyShape shape{width, height, to_pitch, from_pitch};
  if (width > to_pitch || width > from_pitch) return remember(cudaErrorInvalidPitchValue);
  return api("cudaMemcpy2DAsync",
             [&] { return copy_on(find_stream(stream), to, from, shape, kind, Wait::no); });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return api("cudaMemcpyPeer", [&] {
    if (is_host(to) || is_host(from)) return cudaErrorInvalidValue;
    if (device_of(to) != to_device || device_of(from) != from_device) return cudaErrorInvalidDevice;
    return copy_on(find_stream(nullptr), to, from, {bytes}, cudaMemcpyDeviceToDevice, Wait::yes);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return api("cudaMemcpyPeerAsync", [&] {
    if (is_host(to) || is_host(from)) return cudaErrorInvalidValue;
    if (device_of(to) != to_device || device_of(from) != from_device) return cudaErrorInvalidDevice;
    return copy_on(find_stream(stream), to, from, {bytes}, cudaMemcpyDeviceToDevice, Wait::no);
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return api("cudaMemset", [&] { return fill_on(find_stream(nullptr), to, value, 1, {bytes}); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return api("cudaMemsetAsync", [&] { return fill_on(find_stream(stream), to, value, 1, {bytes}); });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return api("cudaMemset2D", [&] {
    return fill_on(find_stream(nullptr), to, value, 1, {width, height, pitch});
  });
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return api("cudaMemset2DAsync", [&] {
    return fill_on(find_stream(stream), to, value, 1, {width, height, pitch});
  });
}

}  // extern "C"
