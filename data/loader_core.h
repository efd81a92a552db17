// The part of DataLoader that does not depend on the dataset's type: order, position, threads and slots.
//
// Everything here runs on the thread that owns the loader, except for what Prefetcher's workers call.
#pragma once

#include <tern/data/batch_writer.h>
#include <tern/data/sampler.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tern::data {

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;                   ///< visit in the order of RandomSampler(size, seed)
  std::shared_ptr<Sampler> sampler = {};  ///< visit in this one's order; not together with shuffle
  int num_workers = 0;                    ///< threads that load ahead; 0 loads on the thread of the loop
  bool drop_last = false;                 ///< leave out a last batch that is smaller than batch_size
  uint64_t seed = 0;                      ///< of the order and of the samples' random streams
  int prefetch_factor = 2;                ///< batches that are loaded ahead, per worker
  double timeout = 0;  ///< seconds to wait for a batch (needs workers); 0, or above 10^9: for ever
};

/// Where a loop over a loader stands: the epoch, and the batch that comes next in it.
struct DataLoaderState {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const DataLoaderState&) const = default;
};

namespace detail {

/// The batches of one pass.
struct Plan {
  std::vector<int64_t> indices;
  int64_t batch_size = 1, batches = 0;
  RandomKey key;

  std::span<const int64_t> batch(int64_t number) const;
};

using Load = std::function<void(BatchWriter&)>;

class Prefetcher;

class LoaderCore {
 public:
  LoaderCore(int64_t dataset_size, const DataLoaderOptions& options, Load load);
  ~LoaderCore();
  LoaderCore(const LoaderCore&) = delete;
  LoaderCore& operator=(const LoaderCore&) = delete;

  int64_t size() const;
  void begin();
  /// Replaces `batch` by the next one; false at the end of the pass. `batch` must hold the last one's
  /// handles, or nothing.
  bool next(Tensors& batch);
  /// Leaves the pass; work that is under way is abandoned. Does not wait.
  void finish();

  DataLoaderState state() const;
  void load_state(DataLoaderState state);
  void set_epoch(int64_t epoch);

 private:
  int64_t samples() const;
  int64_t batches_of(int64_t samples) const;
  void ask_sampler(int64_t epoch);
  bool load_next(Tensors& batch);

  int64_t dataset_size_;
  DataLoaderOptions options_;
  Load load_;
  std::shared_ptr<Sampler> sampler_;
  std::unique_ptr<Prefetcher> prefetcher_;
  Plan plan_;
  Slot slot_;  // without workers
  int64_t position_ = 0;
  bool under_way_ = false;
  std::optional<DataLoaderState> stopped_at_, resume_;
};

}  // namespace detail
}  // namespace tern::data
