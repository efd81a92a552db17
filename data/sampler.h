// Samplers: in which order, and which, samples of a dataset are visited in an epoch.
//
// A sampler is asked once at the start of each pass, on the thread that runs the loop. Its answer must depend
// on nothing but its construction and the epoch. The loader counts epochs by itself; set_epoch() wins for the
// next pass.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::data {

/// The last epoch that a sampler can be set to; a loop over it fails, since none follows.
inline constexpr int64_t last_epoch = int64_t{1} << 62;

class Sampler {
 public:
  virtual ~Sampler() = default;
  /// The number of indices in the coming epoch (of this rank, for a sampler that divides them).
  virtual int64_t size() const = 0;
  /// Replaces the contents of `indices` by those of `epoch`: size() of them.
  virtual void indices(int64_t epoch, std::vector<int64_t>& indices) const = 0;

  /// The epoch of the next pass. 0 at the start; each pass adds one as it begins.
  int64_t epoch() const { return epoch_; }
  /// Throws Error for a negative epoch and for one above last_epoch.
  void set_epoch(int64_t epoch);

 private:
  int64_t epoch_ = 0;
};

/// 0, 1, …, size - 1. Throws Error for a negative size.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size);
  int64_t size() const override { return size_; }
  void indices(int64_t epoch, std::vector<int64_t>& indices) const override;

 private:
  int64_t size_;
};

/// A permutation of 0, 1, …, size - 1, another one in each epoch; the same (size, seed, epoch) gives the same
/// one on any machine. Throws Error for a negative size.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(int64_t size, uint64_t seed = 0);
  int64_t size() const override { return size_; }
  void indices(int64_t epoch, std::vector<int64_t>& indices) const override;

 private:
  int64_t size_;
  uint64_t seed_;
};

}  // namespace tern::data
