// Where a batch is put together: the memory of one slot of a loader, reused from batch to batch.
//
// A loader makes one BatchWriter per batch, on the thread that loads it. A dataset sees it only when it has
//   void get_batch(BatchWriter& batch) const;
// in addition to size() and get(): the loader then calls that, once a batch, in place of get() for each
// sample. It must write the very values that get() gives.
#pragma once

#include <tern/data/sample.h>

#include <atomic>
#include <span>

namespace tern::data {

/// What chance and order in a loader depend on.
struct RandomKey {
  uint64_t seed = 0;
  int64_t epoch = 0;

  /// The random stream of one sample in this epoch. index < 2^40 - 1.
  PhiloxStream sample(int64_t index) const;
  /// The random stream for the order of samples in this epoch.
  PhiloxStream order() const;
};

namespace detail {

// A place for a batch. Its storages are kept beyond the batch: whoever keeps a tensor of it keeps the values,
// since a storage that has another owner is not written again.
struct Slot {
  Tensors batch;
  InlineVector<Ref<Storage>, 4> storages;
  std::atomic<int64_t> sample{-1};  // in progress; -1 before the first
};

// Thrown inside a worker to leave a batch that nobody waits for any more.
struct Cancelled {};

}  // namespace detail

class BatchWriter {
 public:
  /// `cancelled`, when given, makes start() leave the batch by an exception of its own kind.
  BatchWriter(detail::Slot& slot, std::span<const int64_t> indices, RandomKey key,
              const std::atomic<bool>* cancelled = nullptr);

  /// The number of samples in this batch.
  int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  /// The index in the dataset of the batch's sample `row`.
  int64_t index(int64_t row) const { return indices_[static_cast<size_t>(row)]; }
  /// Notes that sample `row` is being worked on, so that errors and time-outs name it. Returns its random
  /// stream.
  PhiloxStream start(int64_t row);

  /// Tensor number `field` of the batch, uninitialised, in the slot's memory when nobody holds that any more.
  /// Fields are made in order, from 0.
  Tensor make(size_t field, const Layout& layout, DType dtype);
  /// Copies a sample into row `row` of every field; row 0 comes first and decides shapes, dtypes and the
  /// order of dimensions. Throws Error when a sample differs in number, shape or dtype of its tensors.
  void put(int64_t row, const Tensors& sample);
  /// Makes `batch` the result, in place of make() and put().
  void set(Tensors batch) { slot_.batch = std::move(batch); }

 private:
  void put_field(int64_t row, size_t field, const Tensor& value);

  detail::Slot& slot_;
  std::span<const int64_t> indices_;
  RandomKey key_;
  const std::atomic<bool>* cancelled_;
};

/// Fills the batch by get() alone, sample after sample.
template <Dataset D>
void stack_samples(const D& dataset, BatchWriter& batch) {
  for (int64_t row = 0; row < batch.size(); ++row) {
    PhiloxStream random = batch.start(row);
    batch.put(row, tensors_of(detail::get_sample(dataset, batch.index(row), random)));
  }
}

}  // namespace tern::data
