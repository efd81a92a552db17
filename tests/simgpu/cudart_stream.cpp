// Streams, events and host functions.
#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/api.h>
#include <tern/tests/simgpu/capture.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/streams.h>

using namespace simgpu;

namespace {

template <class Body>
cudaError_t with_stream(const char* name, cudaStream_t handle, Body body) {
  return api(name, [&] {
    Stream* stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(*stream);
  });
}

template <class Body>
cudaError_t with_event(const char* name, cudaEvent_t handle, Body body) {
  return api(name, [&] {
    Event* event = find_event(handle);
    return event == nullptr ? cudaErrorInvalidResourceHandle : body(*event);
  });
}

cudaError_t create_stream(cudaStream_t* handle, unsigned flags, int priority) {
  if (handle == nullptr || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
    return cudaErrorInvalidValue;
  Stream* stream = make_stream(current_device_number(), flags == cudaStreamDefault, priority);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t* handle, unsigned flags) {
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
  if (handle == nullptr || (flags & ~known) != 0) return cudaErrorInvalidValue;
  Event* event = make_event(current_device_number(), (flags & cudaEventDisableTiming) == 0);
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t record(Event& event, cudaStream_t handle) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr || stream->device != event.device) return cudaErrorInvalidResourceHandle;
  record_event(event, *stream);
  return cudaSuccess;
}

bool is_finished(const TaskPointer& task) {
  run_a_little(task);
  return task == nullptr || task->is_done();
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return api("cudaStreamCreate", [&] { return create_stream(handle, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return api("cudaStreamCreateWithFlags", [&] { return create_stream(handle, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  return api("cudaStreamCreateWithPriority", [&] {
    return create_stream(handle, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return with_stream("cudaStreamDestroy", handle, [&](Stream& stream) {
    if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
      return cudaErrorInvalidResourceHandle;
    }
    destroy_stream(&stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream("cudaStreamSynchronize", handle, [&](Stream& stream) {
    if (capture_forbids(&stream)) return cudaErrorStreamCaptureUnsupported;
    return synchronize_stream(stream);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream("cudaStreamQuery", handle, [&](Stream& stream) {
    if (capture_forbids(&stream)) return cudaErrorStreamCaptureUnsupported;
    for (const TaskPointer& task : tails(stream)) {
      if (!is_finished(task)) return cudaErrorNotReady;
    }
    return synchronize_stream(stream);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  return with_stream("cudaStreamWaitEvent", handle, [&](Stream& stream) {
    Event* event = find_event(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream.capture != nullptr && event->capture != stream.capture) {
      stream.capture->valid = false;
      return cudaErrorStreamCaptureIsolation;
    }
    wait_for_event(stream, *event);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream("cudaStreamGetPriority", handle, [&](Stream& stream) {
    *priority = stream.priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream("cudaStreamGetFlags", handle, [&](Stream& stream) {
    *flags = stream.blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* number) {
  return with_stream("cudaStreamGetId", handle, [&](Stream& stream) {
    *number = stream.number;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream("cudaStreamGetDevice", handle, [&](Stream& stream) {
    *device = stream.device;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  return with_stream("cudaLaunchHostFunc", handle, [&](Stream& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    Work work{.name = "a host function", .device = stream.device, .kind = WorkKind::host, .unlocked = true};
    work.run = [=](Task&) {
      const Unlocked unlocked;
      function(argument);
    };
    enqueue_work(stream, std::move(work));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t function, void* argument,
                                  unsigned) {
  return with_stream("cudaStreamAddCallback", handle, [&](Stream& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    if (capture_forbids(&stream)) return cudaErrorStreamCaptureUnsupported;
    Work work{.name = "a callback", .device = stream.device, .kind = WorkKind::host, .unlocked = true};
    work.run = [=](Task&) {
      const Unlocked unlocked;
      function(handle, cudaSuccess, argument);
    };
    enqueue_work(stream, std::move(work));
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return api("cudaEventCreate", [&] { return create_event(handle, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return api("cudaEventCreateWithFlags", [&] { return create_event(handle, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_event("cudaEventDestroy", handle, [&](Event& event) {
    destroy_event(&event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return with_event("cudaEventRecord", handle, [&](Event& event) { return record(event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return with_event("cudaEventRecordWithFlags", handle, [&](Event& event) {
    return flags != cudaEventRecordDefault ? cudaErrorInvalidValue : record(event, stream);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event("cudaEventSynchronize", handle, [&](Event& event) {
    if (event.capture != nullptr) return cudaErrorCapturedEvent;
    run_until_done({event.recorded});
    return device_number(event.device).error;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event("cudaEventQuery", handle, [&](Event& event) {
    if (event.capture != nullptr) return cudaErrorCapturedEvent;
    if (!is_finished(event.recorded)) return cudaErrorNotReady;
    run_until_done({event.recorded});  // the host now knows
    return device_number(event.device).error;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_event("cudaEventElapsedTime", start, [&](Event& first) {
    const Event* last = find_event(end);
    if (last == nullptr || !first.timed || !last->timed || !first.recorded || !last->recorded) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!first.recorded->is_done() || !last->recorded->is_done()) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(*last->time - *first.time).count();
    return cudaSuccess;
  });
}

}  // extern "C"
