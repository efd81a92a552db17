#include <tern/core/random_journal.h>

#include <algorithm>
#include <utility>

namespace tern {
namespace {

thread_local RandomJournal* newest = nullptr;

}  // namespace

RandomJournal::RandomJournal() : outer_(std::exchange(newest, this)) {}

RandomJournal::~RandomJournal() { newest = outer_; }

RandomJournal* RandomJournal::current() { return newest; }

void RandomJournal::note(Generator& generator, RandomState state) {
  for (RandomJournal* journal = newest; journal; journal = journal->outer_) {
    const std::lock_guard lock(journal->mutex_);
    const bool known = std::any_of(journal->starts_.begin(), journal->starts_.end(),
                                   [&](const Start& start) { return start.generator == &generator; });
    if (!known) journal->starts_.push_back({&generator, state});
  }
}

void RandomJournal::forget(const Generator& generator) {
  for (RandomJournal* journal = newest; journal; journal = journal->outer_) {
    const std::lock_guard lock(journal->mutex_);
    std::erase_if(journal->starts_, [&](const Start& start) { return start.generator == &generator; });
  }
}

RandomJournalGuard::RandomJournalGuard(RandomJournal* journal) : before_(std::exchange(newest, journal)) {}

RandomJournalGuard::~RandomJournalGuard() { newest = before_; }

}  // namespace tern
