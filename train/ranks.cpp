#include <tern/train/ranks.h>

#include <tern/core/error.h>
#include <tern/distributed/init.h>
#include <tern/distributed/same_on_all_ranks.h>

#include <exception>

namespace tern::train {

Ranks::Ranks(const distributed::Group& group) : group_(group) {
  if (!group_ && distributed::is_initialized()) group_ = distributed::default_group();
  if (group_ && group_->size() == 1) group_ = nullptr;
}

std::vector<std::string> Ranks::all_texts(const std::string& own) const {
  std::vector<std::string> texts;
  for (int rank = 0; rank < size(); ++rank)
    texts.push_back(group_ ? distributed::broadcast_text(own, rank, group_) : own);
  return texts;
}

std::string Ranks::text_of_first(const std::string& own) const {
  return group_ ? distributed::broadcast_text(own, 0, group_) : own;
}

void Ranks::together(const std::function<void()>& action) const {
  if (!group_) return action();
  std::string failure;
  std::exception_ptr own;
  try {
    action();
  } catch (const DistributedError&) {
    throw;
  } catch (const IoError& error) {
    failure = std::string("i") + error.what();
    own = std::current_exception();
  } catch (const std::exception& error) {
    failure = std::string("e") + error.what();
    own = std::current_exception();
  }
  const std::vector<std::string> failures = all_texts(failure);
  if (own) std::rethrow_exception(own);
  for (size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    const std::string text = "rank " + std::to_string(rank) + ": " + failures[rank].substr(1);
    if (failures[rank][0] == 'i') throw IoError(text);
    throw Error(text);
  }
}

}  // namespace tern::train
