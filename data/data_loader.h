// DataLoader: batches of a dataset, in a loop, prepared ahead by worker threads.
//
//   DataLoader loader(train_set, {.batch_size = 128, .shuffle = true, .num_workers = 2});
//   for (int epoch = 0; epoch < 10; ++epoch)
//     for (auto& [images, labels] : loader) …
//
// Order and content of the batches depend on the dataset, the sampler, the seed and the epoch, never on the
// number of workers: a sample's random stream is that of (seed, epoch, index). The loader belongs to the
// thread of the loop; the dataset, moved or copied in, is used by all workers at once.
//
// Batches lie in memory that the loader uses again once nobody holds it: keep a tensor and its values stay.
// An exception in a worker comes out of the loop at the batch that it hit, with the sample and the worker in
// its text and the original nested in it; IoError stays IoError. Leaving a loop early abandons what was
// loaded ahead; the next loop is the next epoch.
#pragma once

#include <tern/data/loader_core.h>

#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

namespace tern::data {

/// `Batch` is the type of the samples, stacked, unless the loader has a collate function of its own.
template <Dataset D, TensorStruct Batch = SampleOf<D>>
class DataLoader {
 public:
  /// Throws Error when the options do not fit together, or the dataset's size is negative. Threads start with
  /// the first loop.
  explicit DataLoader(D dataset, const DataLoaderOptions& options = {})
      : DataLoader(std::make_shared<const D>(std::move(dataset)), options, {}) {}

  /// `collate` makes a batch from a std::span<const Sample> (to pad texts to one length, say); workers call
  /// it at the same time. Throws Error when it is an empty function. (The guide below finds Batch, hence a D
  /// that is not deduced here.)
  template <class Collate>
  DataLoader(std::type_identity_t<D> dataset, const DataLoaderOptions& options, Collate collate)
      : DataLoader(std::make_shared<const D>(std::move(dataset)), options, checked(collate)) {}

  class Iterator {
   public:
    // Delegates, so that the destructor leaves the pass when the first batch fails.
    explicit Iterator(DataLoader& loader) : Iterator(loader, false) { ++*this; }
    ~Iterator() { loader_.core_->finish(); }
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;
    Batch& operator*() const { return loader_.batch_; }
    Iterator& operator++() {
      loader_.batch_ = Batch();
      Tensors next;
      more_ = loader_.core_->next(next);
      if (more_) loader_.batch_ = made_of<Batch>(std::move(next));
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !more_; }

   private:
    Iterator(DataLoader& loader, bool more) : loader_(loader), more_(more) {}

    DataLoader& loader_;
    bool more_;
  };

  /// Starts the next epoch (or the place that load_state() named). One loop at a time: throws Error when
  /// another one over this loader is under way, when the sampler's indices do not fit the dataset or its own
  /// size, and when the system refuses threads for the workers.
  Iterator begin() {
    core_->begin();
    return Iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// The number of batches in an epoch.
  int64_t size() const { return core_->size(); }
  const D& dataset() const { return *dataset_; }

  /// The next loop's epoch. Without it each loop is one epoch further.
  void set_epoch(int64_t epoch) { core_->set_epoch(epoch); }
  /// Where the loop stands. Inside the loop, and after leaving it early: its epoch, and the batch after the
  /// current one. Else the next loop's epoch, and batch 0.
  DataLoaderState state() const { return core_->state(); }
  /// The next loop goes on at `state`: nothing is repeated, nothing left out. Not inside a loop (Error).
  void load_state(const DataLoaderState& state) { core_->load_state(state); }

 private:
  using Sample = SampleOf<D>;
  using CollateFunction = std::function<Batch(std::span<const Sample>)>;

  static CollateFunction checked(CollateFunction collate) {
    check(collate, "DataLoader: the collate function is empty");
    return collate;
  }

  DataLoader(std::shared_ptr<const D> dataset, const DataLoaderOptions& options, CollateFunction collate)
      : dataset_(std::move(dataset)),
        core_(std::make_unique<detail::LoaderCore>(
            dataset_->size(), options, [shared = dataset_, collate = std::move(collate)](BatchWriter& batch) {
              load(*shared, collate, batch);
            })) {}

  static void load(const D& dataset, const CollateFunction& collate, BatchWriter& batch) {
    if (collate) return batch.set(tensors_of(collate(samples_of(dataset, batch))));
    if constexpr (requires { dataset.get_batch(batch); })
      dataset.get_batch(batch);
    else
      stack_samples(dataset, batch);
  }

  static std::vector<Sample> samples_of(const D& dataset, BatchWriter& batch) {
    std::vector<Sample> samples;
    samples.reserve(static_cast<size_t>(batch.size()));
    for (int64_t row = 0; row < batch.size(); ++row) {
      PhiloxStream random = batch.start(row);
      samples.push_back(detail::get_sample(dataset, batch.index(row), random));
    }
    return samples;
  }

  std::shared_ptr<const D> dataset_;
  std::unique_ptr<detail::LoaderCore> core_;
  Batch batch_;
};

template <Dataset D, class Collate>
DataLoader(D, const DataLoaderOptions&, Collate)
    -> DataLoader<D, std::invoke_result_t<Collate&, std::span<const SampleOf<D>>>>;

}  // namespace tern::data
