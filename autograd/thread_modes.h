// The modes of a thread that operations go by, for threads that work on another's behalf.
//
//   const ThreadModes modes;             // of the thread that has the work
//   std::thread([&] {
//     const ThreadModesGuard guard(modes);  // as if over there
//     …
//   });
#pragma once

#include <tern/autograd/anomaly.h>
#include <tern/autograd/checkpoint.h>
#include <tern/autograd/grad_mode.h>
#include <tern/core/random_journal.h>

namespace tern {

/// Made on the thread whose modes it keeps. Every mode that is kept per thread has its place here.
struct ThreadModes {
  bool grad_enabled = is_grad_enabled();
  bool anomaly_detected = is_anomaly_detected();
  bool recomputing = is_recomputing();
  RandomJournal* journal = RandomJournal::current();  ///< outlives the work
};

/// Gives the calling thread these modes until it goes out of scope.
class ThreadModesGuard {
 public:
  explicit ThreadModesGuard(const ThreadModes& modes)
      : grad_(modes.grad_enabled),
        anomaly_(modes.anomaly_detected),
        recomputing_(modes.recomputing),
        journal_(modes.journal) {}

 private:
  GradModeGuard grad_;
  AnomalyGuard anomaly_;
  RecomputingGuard recomputing_;
  RandomJournalGuard journal_;
};

}  // namespace tern
