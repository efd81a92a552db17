// DistributedSampler: each rank's share of a dataset.
//
//   auto sampler = std::make_shared<data::DistributedSampler>(images.size());
//   data::DataLoader loader(images, {.batch_size = 32, .sampler = sampler});
//
// All ranks put the samples into one order, that of RandomSampler(size, seed) in the same epoch, and rank r
// takes places r, r + num_replicas, r + 2 num_replicas, … of it. So step k of N ranks with batch B visits
// what step k of one process with batch N·B and the same seed visits. The loader counts epochs, and a
// set_epoch() wins for the next pass, as with every sampler: nobody has to call it.
//
// For training, shares are made equal: samples from the order's beginning are visited a second time, or with
// `drop_last` its end is left out. For evaluation, `padding = false` gives uneven shares in which every
// sample is there exactly once: a sum over ranks then counts nobody twice.
#pragma once

#include <tern/data/sampler.h>

#include <optional>

namespace tern::data {

struct DistributedSamplerOptions {
  std::optional<int64_t> num_replicas = {};  ///< how many ranks share the samples; else the default group's
  std::optional<int64_t> rank = {};          ///< whose share this is, from 0; else this rank in that group
  bool shuffle = true;                       ///< another order in each epoch; otherwise 0, 1, 2, …
  uint64_t seed = 0;                         ///< of the order, the same on all ranks
  bool drop_last = false;                    ///< equal shares, by leaving out up to num_replicas - 1 samples
  bool padding =
      true;  ///< equal shares, by repeating samples (unless drop_last); false: shares differ by one
};

/// As torch.utils.data.DistributedSampler, for a dataset of `size` samples; `padding = false` is ours.
class DistributedSampler : public Sampler {
 public:
  /// Throws Error for a negative size, without num_replicas or rank before init_process_group, for
  /// num_replicas below 1, for a rank that is not from 0 to num_replicas - 1, and for drop_last without
  /// padding.
  explicit DistributedSampler(int64_t size, const DistributedSamplerOptions& options = {});

  /// Of this rank's share. Equal shares are ceil(size / num_replicas), with drop_last floor(…).
  int64_t size() const override;
  void indices(int64_t epoch, std::vector<int64_t>& indices) const override;
  /// How many samples of this rank repeat those of another: 0, or 1, which is then the share's last.
  int64_t repeated() const;

 private:
  int64_t size_, ranks_, rank_;
  DistributedSamplerOptions options_;
};

}  // namespace tern::data
