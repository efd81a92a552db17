// The capture of streams into graphs.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/graph_handles.h>
#include <tern/tests/simgpu/streams.h>

#include <algorithm>

using namespace simgpu;

namespace {

uint64_t captures = 0;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

template <class Body>
cudaError_t with_stream(const char* name, cudaStream_t handle, Body body) {
  return api(name, [&] {
    Stream* stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(*stream);
  });
}

/// Whether all that joined streams have captured comes before what the origin captures next.
bool all_joined(const Capture& capture) {
  std::set<size_t> before;
  std::vector<size_t> stack = capture.origin->capture_tail;
  while (!stack.empty()) {
    const size_t node = stack.back();
    stack.pop_back();
    if (!before.insert(node).second) continue;
    const auto& after = capture.graph->nodes[node]->after;
    stack.insert(stack.end(), after.begin(), after.end());
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const Stream* stream) {
    return std::all_of(stream->capture_tail.begin(), stream->capture_tail.end(),
                       [&](size_t node) { return before.contains(node); });
  });
}

cudaError_t end_capture(Stream& stream, cudaGraph_t* graph) {
  if (stream.capture == nullptr) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream.capture;
  *graph = nullptr;
  if (capture->origin != &stream) {
    capture->valid = false;
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool joined = all_joined(*capture);
  for (Stream* member : capture->streams) {
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  *graph = add_graph(capture->graph);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return with_stream("cudaStreamBeginCapture", handle, [&](Stream& stream) {
    if (stream.is_legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream.capture != nullptr) return cudaErrorIllegalState;
    stream.capture = std::make_shared<Capture>();
    stream.capture->origin = &stream;
    stream.capture->streams.insert(&stream);
    stream.capture->mode = mode;
    stream.capture->number = ++captures;
    stream.capture_tail.clear();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return with_stream("cudaStreamEndCapture", handle,
                     [&](Stream& stream) { return end_capture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_stream("cudaStreamIsCapturing", handle, [&](Stream& stream) {
    *status = stream.capture == nullptr ? cudaStreamCaptureStatusNone
              : stream.capture->valid   ? cudaStreamCaptureStatusActive
                                        : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* number, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return with_stream("cudaStreamGetCaptureInfo", handle, [&](Stream& stream) {
    *status = cudaStreamCaptureStatusNone;
    if (stream.capture == nullptr) return cudaSuccess;
    *status = stream.capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
    if (number != nullptr) *number = stream.capture->number;
    if (graph != nullptr || nodes != nullptr || edges != nullptr || count != nullptr)
      return cudaErrorNotSupported;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&] {
    std::swap(*mode, thread_mode);
    return cudaSuccess;
  });
}

}  // extern "C"
