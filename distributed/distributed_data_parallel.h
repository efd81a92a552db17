// DistributedDataParallel: one model, trained by all ranks together.
//
//   distributed::init_process_group();
//   nn::DistributedDataParallel model(Net());
//   optim::SGD optimizer(model.parameters(), {.lr = 0.1});
//   …
//   optimizer.zero_grad();
//   backward(cross_entropy(model(images), labels));  // of this rank's share of the batch
//   optimizer.step();
//
// All ranks start from rank 0's weights. After each backward() the gradients are those of the mean of the
// ranks' losses, with the same bits on all ranks, so equal optimizers keep the weights equal. N ranks with
// batches of B samples do what one process does with a batch of N B, if losses are means over samples and
// layers do not look across them (SyncBatchNorm is for those that do).
//
// Gradients lie in buckets (flat tensors, .bucket_cap_mb each) from the moment they are written. A bucket is
// reduced as soon as its last gradient is complete, while backward goes on; backward() returns when all are.
// The first pass shows in which order gradients come, and rank 0's order becomes that of the buckets: then
// gradients move once, so a handle from grad() is asked for again.
//
// Every backward() that reaches a parameter is reduced, whoever called forward: all ranks run as many, and
// where they can't, no_sync() or Join (distributed/join.h) says so. It adds to gradients that are there
// already, as always, and what accumulated under no_sync() is reduced with it. grad() is never reduced.
#pragma once

#include <tern/distributed/reducer.h>
#include <tern/nn/module.h>

#include <utility>

namespace tern::nn {
namespace parallel {

/// While it lives, backward() reduces nothing.
class NoSyncGuard {
 public:
  explicit NoSyncGuard(std::shared_ptr<Reducer> reducer)
      : reducer_(std::move(reducer)), before_(reducer_->set_sync(false)) {}
  ~NoSyncGuard() { reducer_->set_sync(before_); }
  NoSyncGuard(const NoSyncGuard&) = delete;
  NoSyncGuard& operator=(const NoSyncGuard&) = delete;

 private:
  std::shared_ptr<Reducer> reducer_;
  bool before_;
};

/// As torch.nn.parallel.DistributedDataParallel. `module` is its one child, so names in state dicts begin
/// with "module.". A copy shares everything. In a group of one rank it is the module and nothing else.
template <std::derived_from<Module> M>
class DistributedDataParallel : public Layer<DistributedDataParallel<M>> {
 public:
  /// All ranks of the group call it together. Shares the module's tensors, and overwrites parameters and
  /// buffers by rank 0's. Throws Error on every rank, naming the first difference, when modules or options
  /// differ; and for a module none of whose parameters requires a gradient, parameters that another
  /// DistributedDataParallel has, options that make no sense, and without a process group.
  ///
  /// From then on the module keeps its parameters, their dtypes and places, and which of them require
  /// gradients; their values may change (load_state_dict, init).
  explicit DistributedDataParallel(M wrapped, const DistributedDataParallelOptions& options = {})
      : module(std::move(wrapped)), reducer_(std::make_shared<Reducer>(module, options)) {}

  /// The module's output. While it trains and records, buffers are first overwritten by rank 0's
  /// (.broadcast_buffers). In evaluation, and without recording, ranks are independent.
  ///
  /// Throws Error, naming it, when a parameter was replaced, converted, moved, frozen or thawed.
  template <class... Inputs>
  auto forward(Inputs&&... inputs) {
    reducer_->before_forward(module);
    return module(std::forward<Inputs>(inputs)...);
  }

  /// Gradients accumulate on this rank until the guard is gone: only the backward() calls meanwhile matter.
  ///
  ///   { const auto guard = model.no_sync(); backward(loss(model(a))); }
  ///   backward(loss(model(b)));  // reduces the sum of both
  [[nodiscard]] NoSyncGuard no_sync() { return NoSyncGuard(reducer_); }

  /// Buckets are reduced by `hook` from now on. Throws Error when it is empty, when there is one already, or
  /// after the first reduced backward().
  void register_comm_hook(CommHook hook) { reducer_->set_hook(std::move(hook)); }

  const distributed::Group& process_group() const { return reducer_->group(); }
  /// For Join, and for tests: what moves the gradients.
  const std::shared_ptr<Reducer>& reducer() const { return reducer_; }

  void members(Visitor& visitor) override { visitor.module("module", module); }
  std::string describe() const override { return "DistributedDataParallel()"; }

  M module;

 private:
  std::shared_ptr<Reducer> reducer_;
};

}  // namespace parallel

using parallel::DistributedDataParallel;
using parallel::DistributedDataParallelOptions;

}  // namespace tern::nn
