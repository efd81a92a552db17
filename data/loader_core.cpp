#include <tern/data/loader_core.h>

#include <tern/core/profile.h>
#include <tern/data/prefetcher.h>

#include <algorithm>

namespace tern::data::detail {
namespace {

void check_options(const DataLoaderOptions& options) {
  check(options.batch_size >= 1, "DataLoader: batch_size must be at least 1, got ", options.batch_size);
  check(options.num_workers >= 0, "DataLoader: num_workers must be at least 0, got ", options.num_workers);
  check(options.prefetch_factor >= 1, "DataLoader: prefetch_factor must be at least 1, got ",
        options.prefetch_factor);
  check(options.timeout >= 0, "DataLoader: timeout must be at least 0 seconds, got ", options.timeout);
  check(options.timeout == 0 || options.num_workers > 0,
        "DataLoader: a timeout needs workers (num_workers is 0)");
  check(!(options.shuffle && options.sampler),
        "DataLoader: shuffle and sampler exclude each other; shuffle in the sampler");
}

std::shared_ptr<Sampler> make_sampler(int64_t size, const DataLoaderOptions& options) {
  if (options.sampler) return options.sampler;
  if (options.shuffle) return std::make_shared<RandomSampler>(size, options.seed);
  return std::make_shared<SequentialSampler>(size);
}

}  // namespace

std::span<const int64_t> Plan::batch(int64_t number) const {
  const auto begin = static_cast<size_t>(number * batch_size);
  return std::span(indices).subspan(begin, std::min(static_cast<size_t>(batch_size), indices.size() - begin));
}

LoaderCore::LoaderCore(int64_t dataset_size, const DataLoaderOptions& options, Load load)
    : dataset_size_(dataset_size), options_(options), load_(std::move(load)) {
  check_options(options);
  check(dataset_size >= 0, "DataLoader: the dataset's size() must not be negative, got ", dataset_size);
  sampler_ = make_sampler(dataset_size, options);
}

LoaderCore::~LoaderCore() = default;

int64_t LoaderCore::batches_of(int64_t samples) const {
  return samples / options_.batch_size + (!options_.drop_last && samples % options_.batch_size > 0);
}

int64_t LoaderCore::samples() const {
  const int64_t size = sampler_->size();
  check(size >= 0, "DataLoader: the sampler's size() must not be negative, got ", size);
  return size;
}

int64_t LoaderCore::size() const { return batches_of(samples()); }

// Into plan_.indices.
void LoaderCore::ask_sampler(int64_t epoch) {
  sampler_->set_epoch(epoch);  // a size may depend on it
  sampler_->indices(epoch, plan_.indices);
  const auto given = static_cast<int64_t>(plan_.indices.size());
  check(given == samples(), "DataLoader: the sampler gave ", given, " indices, its size() is ", samples());
  for (const int64_t index : plan_.indices) {
    check(index >= 0 && index < dataset_size_, "DataLoader: the sampler gave index ", index,
          " for a dataset of ", dataset_size_, " samples");
  }
}

void LoaderCore::begin() {
  check(!under_way_, "DataLoader: a loop over this loader is under way; use a second loader inside it");
  if (prefetcher_) prefetcher_->wait_until_idle();
  const DataLoaderState from = resume_.value_or(DataLoaderState{sampler_->epoch(), 0});
  ask_sampler(from.epoch);
  plan_.batch_size = options_.batch_size;
  plan_.batches = batches_of(static_cast<int64_t>(plan_.indices.size()));
  plan_.key = {options_.seed, from.epoch};
  check(from.batch <= plan_.batches, "DataLoader: cannot go on at batch ", from.batch, " of ", plan_.batches);
  if (options_.num_workers > 0 && !prefetcher_) {
    prefetcher_ = std::make_unique<Prefetcher>(load_, plan_, options_);
  }
  sampler_->set_epoch(from.epoch + 1);
  resume_.reset(), stopped_at_.reset();
  position_ = from.batch;
  if (prefetcher_) prefetcher_->begin(position_, plan_.batches);
  under_way_ = true;
}

bool LoaderCore::next(Tensors& batch) {
  const ProfileScope scope("DataLoader next", ProfileKind::data);
  batch.clear();
  try {
    return load_next(batch);
  } catch (...) {
    finish();
    if (prefetcher_ && prefetcher_->is_stuck()) prefetcher_.reset();
    throw;
  }
}

bool LoaderCore::load_next(Tensors& batch) {
  if (position_ == plan_.batches) {
    finish();
    stopped_at_.reset();
    return false;
  }
  if (prefetcher_) {
    prefetcher_->take(position_, batch);
  } else {
    load_slot(slot_, load_, plan_.batch(position_), plan_.key, no_worker, nullptr);
    batch = std::move(slot_.batch);
  }
  ++position_;
  return true;
}

void LoaderCore::finish() {
  if (!under_way_) return;
  stopped_at_ = state();
  under_way_ = false;
  if (prefetcher_) prefetcher_->cancel();
}

DataLoaderState LoaderCore::state() const {
  if (under_way_) return {plan_.key.epoch, position_};
  if (resume_) return *resume_;
  if (stopped_at_) return *stopped_at_;
  return {sampler_->epoch(), 0};
}

void LoaderCore::load_state(DataLoaderState state) {
  check(!under_way_, "DataLoader: load_state inside a loop over the loader");
  check(state.epoch >= 0 && state.epoch <= last_epoch && state.batch >= 0,
        "DataLoader: no position can be epoch ", state.epoch, ", batch ", state.batch);
  resume_ = state;
}

void LoaderCore::set_epoch(int64_t epoch) {
  sampler_->set_epoch(epoch);
  resume_.reset(), stopped_at_.reset();
}

}  // namespace tern::data::detail
