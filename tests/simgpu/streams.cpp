#include <tern/tests/simgpu/capture.h>
#include <tern/tests/simgpu/devices.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/streams.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace simgpu {
namespace {

struct Registry {
  std::vector<Stream*> streams;  // default streams included
  std::unordered_set<Event*> events;
  std::unordered_set<Stream*> made_by_program;
  uint64_t count = 0;
};

Registry& registry() {
  static Registry& result = *new Registry;
  return result;
}

Stream* new_stream(int device, bool blocking, int priority) {
  Registry& all = registry();
  auto* stream = new Stream;
  stream->device = device;
  stream->lane = make_lane();
  stream->blocking = blocking;
  stream->priority = priority;
  stream->number = ++all.count;
  all.streams.push_back(stream);
  return stream;
}

Stream* legacy_stream(int device) {
  Stream*& stream = device_number(device).legacy;
  if (stream == nullptr) {
    stream = new_stream(device, true, 0);
    stream->is_legacy = true;
  }
  return stream;
}

Stream* per_thread_stream(int device) {
  thread_local std::map<int, Stream*> streams;
  Stream*& stream = streams[device];
  if (stream == nullptr) stream = new_stream(device, true, 0);
  return stream;
}

}  // namespace

Stream* find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream(current_device_number());
  if (handle == cudaStreamPerThread) return per_thread_stream(current_device_number());
  auto* stream = reinterpret_cast<Stream*>(handle);
  const auto& streams = registry().streams;
  if (std::find(streams.begin(), streams.end(), stream) != streams.end()) return stream;
  report("a stream handle is used that is no stream, or no longer one");
  return nullptr;
}

Event* find_event(cudaEvent_t handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  if (registry().events.contains(event)) return event;
  report("an event handle is used that is no event, or no longer one");
  return nullptr;
}

Stream* make_stream(int device, bool blocking, int priority) {
  Stream* stream = new_stream(device, blocking, priority);
  registry().made_by_program.insert(stream);
  return stream;
}

Event* make_event(int device, bool timed) {
  auto* event = new Event;
  event->device = device;
  event->timed = timed;
  registry().events.insert(event);
  return event;
}

void destroy_stream(Stream* stream) {
  Registry& all = registry();
  std::erase(all.streams, stream);
  all.made_by_program.erase(stream);
  if (stream->capture != nullptr) stream->capture->valid = false;
  if (stream->capture != nullptr) stream->capture->streams.erase(stream);
  // Blocking streams and the legacy one wait for each other's tails: its last task must not be lost.
  if (stream->blocking && stream->tail != nullptr)
    legacy_stream(stream->device)->awaited.push_back(stream->tail);
  release_lane(stream->lane);
  delete stream;
}

void destroy_event(Event* event) {
  registry().events.erase(event);
  delete event;
}

int64_t live_streams() { return static_cast<int64_t>(registry().made_by_program.size()); }
int64_t live_events() { return static_cast<int64_t>(registry().events.size()); }

std::vector<TaskPointer> tails(Stream& stream) {
  std::vector<TaskPointer> result = stream.awaited;
  result.push_back(stream.tail);
  if (!stream.blocking) return result;
  for (const Stream* other : registry().streams) {
    const bool ordered = other->blocking && (stream.is_legacy || other->is_legacy);
    if (ordered && other != &stream && other->device == stream.device) result.push_back(other->tail);
  }
  return result;
}

void enqueue_work(Stream& stream, Work work) {
  if (stream.capture != nullptr) return capture_work(stream, std::move(work));
  stream.tail = submit(std::move(work), stream.lane, tails(stream));
  stream.awaited.clear();
}

cudaError_t synchronize_stream(Stream& stream) {
  run_until_done(tails(stream));
  return device_number(stream.device).error;
}

cudaError_t synchronize_device(int device) {
  std::vector<TaskPointer> all;
  for (Stream* stream : registry().streams) {
    if (stream->device != device) continue;
    all.insert(all.end(), stream->awaited.begin(), stream->awaited.end());
    all.push_back(stream->tail);
  }
  run_until_done(all);
  return device_number(device).error;
}

void record_event(Event& event, Stream& stream) {
  event.capture = stream.capture;
  if (stream.capture != nullptr) {
    event.capture_nodes = stream.capture_tail;
    return;
  }
  auto time = std::make_shared<std::chrono::steady_clock::time_point>();
  event.time = time;
  Work work{.name = "cudaEventRecord", .device = stream.device};
  work.run = [time](Task&) { *time = std::chrono::steady_clock::now(); };
  enqueue_work(stream, std::move(work));
  event.recorded = stream.tail;
}

void wait_for_event(Stream& stream, Event& event) {
  if (event.capture == nullptr) {
    if (event.recorded != nullptr) stream.awaited.push_back(event.recorded);
    return;
  }
  stream.capture = event.capture;  // the stream joins the capture
  stream.capture->streams.insert(&stream);
  for (const size_t node : event.capture_nodes) {
    if (std::find(stream.capture_tail.begin(), stream.capture_tail.end(), node) ==
        stream.capture_tail.end()) {
      stream.capture_tail.push_back(node);
    }
  }
}

bool capture_forbids(const Stream* stream) {
  bool forbidden = false;
  for (const Stream* other : registry().streams) {
    if (other->capture == nullptr || (stream != nullptr && other != stream)) continue;
    Capture& capture = *other->capture;
    const bool concerns =
        capture.mode == cudaStreamCaptureModeGlobal || capture.thread == std::this_thread::get_id();
    if (stream == nullptr && (capture.mode == cudaStreamCaptureModeRelaxed || !concerns)) continue;
    capture.valid = false;
    forbidden = true;
  }
  return forbidden;
}

bool capture_forbids_legacy(Stream& stream) {
  if (!stream.is_legacy) return false;
  bool forbidden = false;
  for (const Stream* other : registry().streams) {
    if (other->capture == nullptr || !other->blocking || other->device != stream.device) continue;
    other->capture->valid = false;
    forbidden = true;
  }
  return forbidden;
}

}  // namespace simgpu
