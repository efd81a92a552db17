// Streams and events: who runs behind whom. All functions want the lock of world.h.
#pragma once

#include <cuda_runtime_api.h>
#include <tern/tests/simgpu/tasks.h>

#include <chrono>
#include <optional>

namespace simgpu {

struct Capture;

struct Stream {
  int device = 0;
  int lane = 0;
  bool blocking = true;  // ordered with the legacy default stream
  bool is_legacy = false;
  int priority = 0;
  uint64_t number = 0;
  TaskPointer tail;                  // the last task queued
  std::vector<TaskPointer> awaited;  // events that the next task waits for
  std::shared_ptr<Capture> capture;  // set while the stream is being captured
  std::vector<size_t> capture_tail;  // the nodes behind which the next one goes
};

struct Event {
  int device = 0;
  bool timed = true;
  TaskPointer recorded;
  // Set by the task that records it.
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
  std::shared_ptr<Capture> capture;  // recorded in a stream that was being captured
  std::vector<size_t> capture_nodes;
};

/// The stream of a handle, default streams included; null for a handle that is none.
Stream* find_stream(cudaStream_t handle);
Event* find_event(cudaEvent_t handle);

Stream* make_stream(int device, bool blocking, int priority);
Event* make_event(int device, bool timed);

/// The stream's tasks finish on their own; the handle is dead.
void destroy_stream(Stream* stream);
void destroy_event(Event* event);

/// Live streams and events that the program made.
int64_t live_streams();
int64_t live_events();

/// Queues work on the stream, or makes it a node of the graph that is being captured.
void enqueue_work(Stream& stream, Work work);

/// The tasks that new work on the stream would wait for.
std::vector<TaskPointer> tails(Stream& stream);

/// Waits for the stream, or for all streams of a device. The answer is the device's error.
cudaError_t synchronize_stream(Stream& stream);
cudaError_t synchronize_device(int device);

void record_event(Event& event, Stream& stream);
void wait_for_event(Stream& stream, Event& event);

/// Whether a stream is being captured that makes the call illegal; such a capture is then invalid.
bool capture_forbids(const Stream* stream);

/// Whether new work on the stream would make a captured one wait: the legacy stream's work does.
bool capture_forbids_legacy(Stream& stream);

}  // namespace simgpu
