// The ranks that save or load a state together, or one process alone. Internal to train.
#pragma once

#include <tern/distributed/collectives.h>

#include <functional>
#include <string>
#include <vector>

namespace tern::train {

class Ranks {
 public:
  /// `group`, or where it is null the default group, or where there is none this process alone.
  explicit Ranks(const distributed::Group& group);

  int rank() const { return group_ ? group_->rank() : 0; }
  int size() const { return group_ ? group_->size() : 1; }
  /// Rank 0 as a rank of the whole job.
  int root() const { return group_ ? group_->ranks()[0] : 0; }

  /// Each rank's text, on all ranks. Collective.
  std::vector<std::string> all_texts(const std::string& own) const;
  /// Rank 0's text, on all ranks. Collective.
  std::string text_of_first(const std::string& own) const;
  /// Runs `action` on each rank; when it throws on one, throws on all: IoError, or Error where the first to
  /// fail threw that. Collective. DistributedErrors are passed on at once: then the group has ended anyway.
  void together(const std::function<void()>& action) const;

 private:
  distributed::Group group_;
};

}  // namespace tern::train
