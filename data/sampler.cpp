#include <tern/data/sampler.h>

#include <tern/data/batch_writer.h>

#include <numeric>

namespace tern::data {
namespace {

int64_t checked_size(int64_t size, const char* sampler) {
  check(size >= 0, sampler, ": size must not be negative, got ", size);
  return size;
}

// 0, 1, …, size - 1.
void count_up(int64_t size, std::vector<int64_t>& indices) {
  try {
    indices.resize(static_cast<size_t>(size));
  } catch (const std::exception&) {
    check(false, "sampler: there is no memory for the order of ", size, " samples");
  }
  std::iota(indices.begin(), indices.end(), int64_t{0});
}

}  // namespace

void Sampler::set_epoch(int64_t epoch) {
  check(epoch >= 0 && epoch <= last_epoch, "set_epoch: needs an epoch from 0 to ", last_epoch, ", got ",
        epoch);
  epoch_ = epoch;
}

SequentialSampler::SequentialSampler(int64_t size) : size_(checked_size(size, "SequentialSampler")) {}

void SequentialSampler::indices(int64_t, std::vector<int64_t>& indices) const { count_up(size_, indices); }

RandomSampler::RandomSampler(int64_t size, uint64_t seed)
    : size_(checked_size(size, "RandomSampler")), seed_(seed) {}

// Fisher and Yates.
void RandomSampler::indices(int64_t epoch, std::vector<int64_t>& indices) const {
  count_up(size_, indices);
  PhiloxStream random = RandomKey{seed_, epoch}.order();
  for (size_t left = indices.size(); left > 1; --left) {
    std::swap(indices[left - 1], indices[random.below(left)]);
  }
}

}  // namespace tern::data
