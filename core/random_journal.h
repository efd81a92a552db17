// Which generators a piece of work draws from, so that a second run of it can draw the same numbers.
#pragma once

#include <tern/core/random.h>

#include <mutex>
#include <vector>

namespace tern {

/// While it lives, notes each generator that its thread draws from, and where it was before the first draw;
/// generators that end meanwhile are forgotten. Journals that were there before it note the same. Other
/// threads take part through RandomJournalGuard.
class RandomJournal {
 public:
  struct Start {
    Generator* generator;
    RandomState state;
  };

  RandomJournal();
  ~RandomJournal();
  RandomJournal(const RandomJournal&) = delete;
  RandomJournal& operator=(const RandomJournal&) = delete;

  /// All so far, each generator once. By the thread that made it, while no other takes part.
  const std::vector<Start>& starts() const { return starts_; }

  /// The newest of the calling thread, or null.
  static RandomJournal* current();
  /// Tells the calling thread's journals that `generator`, now at `state`, is about to be drawn from.
  static void note(Generator& generator, RandomState state);
  /// Tells them that `generator` ends: a second run will make its own.
  static void forget(const Generator& generator);

 private:
  RandomJournal* outer_;
  std::mutex mutex_;
  std::vector<Start> starts_;
};

/// Makes `journal` (or none, null) the calling thread's until it goes out of scope: for threads that work for
/// another.
class RandomJournalGuard {
 public:
  explicit RandomJournalGuard(RandomJournal* journal);
  ~RandomJournalGuard();
  RandomJournalGuard(const RandomJournalGuard&) = delete;
  RandomJournalGuard& operator=(const RandomJournalGuard&) = delete;

 private:
  RandomJournal* before_;
};

}  // namespace tern
