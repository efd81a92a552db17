#include <tern/distributed/distributed_sampler.h>

#include <tern/core/error.h>
#include <tern/distributed/process_group.h>

namespace tern::data {
namespace {

int64_t given_or(const std::optional<int64_t>& given, int (distributed::ProcessGroup::*of_group)() const) {
  check(given || distributed::has_default_group(),
        "DistributedSampler: needs num_replicas and rank, or init_process_group before it");
  return given ? *given : ((*distributed::default_group()).*of_group)();
}

}  // namespace

DistributedSampler::DistributedSampler(int64_t size, const DistributedSamplerOptions& options)
    : size_(size),
      ranks_(given_or(options.num_replicas, &distributed::ProcessGroup::size)),
      rank_(given_or(options.rank, &distributed::ProcessGroup::rank)),
      options_(options) {
  check(size >= 0, "DistributedSampler: size must not be negative, got ", size);
  check(ranks_ >= 1, "DistributedSampler: num_replicas must be at least 1, got ", ranks_);
  check(rank_ >= 0 && rank_ < ranks_, "DistributedSampler: rank must be from 0 to ", ranks_ - 1, ", got ",
        rank_);
  check(!options.drop_last || options.padding,
        "DistributedSampler: without padding nothing is left out; drop_last and padding = false exclude each "
        "other");
}

int64_t DistributedSampler::size() const {
  const int64_t all = size_ / ranks_, rest = size_ % ranks_;
  if (options_.drop_last) return all;
  return all + (options_.padding ? rest > 0 : rank_ < rest);
}

int64_t DistributedSampler::repeated() const {
  const int64_t rest = size_ % ranks_;
  return !options_.drop_last && options_.padding && rest > 0 && rank_ >= rest ? 1 : 0;
}

void DistributedSampler::indices(int64_t epoch, std::vector<int64_t>& indices) const {
  if (options_.shuffle)
    RandomSampler(size_, options_.seed).indices(epoch, indices);
  else
    SequentialSampler(size_).indices(epoch, indices);
  const int64_t share = size(), repeats = repeated(), own = share - repeats;
  // The place behind the end, counted on from the beginning.
  const int64_t last = repeats ? indices[static_cast<size_t>((rank_ + own * ranks_) % size_)] : 0;
  // No place is read after it was written: it lies before the one that is read.
  for (int64_t i = 0; i < own; ++i) {
    indices[static_cast<size_t>(i)] = indices[static_cast<size_t>(rank_ + i * ranks_)];
  }
  indices.resize(static_cast<size_t>(own));
  if (repeats) indices.push_back(last);
}

}  // namespace tern::data
