#include <tern/data/sampler.h>

#include <tern/data/batch_writer.h>

#include <numeric>

namespace tern::data {

void Sampler::set_epoch(int64_t epoch) {
  check(epoch >= 0, "set_epoch: needs an epoch of 0 or more, got ", epoch);
  epoch_ = epoch;
}

void SequentialSampler::indices(int64_t, std::vector<int64_t>& indices) const {
  indices.resize(static_cast<size_t>(size_));
  std::iota(indices.begin(), indices.end(), int64_t{0});
}

// Fisher and Yates.
void RandomSampler::indices(int64_t epoch, std::vector<int64_t>& indices) const {
  indices.resize(static_cast<size_t>(size_));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  PhiloxStream random = RandomKey{seed_, epoch}.order();
  for (size_t left = indices.size(); left > 1; --left) {
    std::swap(indices[left - 1], indices[random.below(left)]);
  }
}

}  // namespace tern::data
