// Join: training with DistributedDataParallel when ranks have different numbers of batches.
//
//   {
//     distributed::Join join(model, {.optimizers = {&optimizer}});
//     for (const auto& batch : loader) { … forward, backward, step … }
//   }
//
// A rank that is at the end of its data stays with the others: its gradients count as zero until all are at
// the end. Then all ranks take over weights, buffers and the optimizers' states of a rank that trained to the
// last. While a Join lives, each backward() that reduces, and each forward pass that broadcasts buffers,
// costs a message. Other collectives in the loop (SyncBatchNorm's, sums of losses) are not joined in: they
// fail at the time-out.
#pragma once

#include <tern/distributed/distributed_data_parallel.h>
#include <tern/optim/optimizer.h>

#include <vector>

namespace tern::distributed {

struct JoinOptions {
  /// Gradients are divided by the number of all ranks: a batch counts the same whenever it comes. False: by
  /// the number of ranks that still train.
  bool divide_by_initial_world_size = true;
  /// False: the Join does nothing.
  bool enable = true;
  /// As soon as one rank is at the end, Error on all: ranks train as long as the shortest has data.
  bool throw_on_early_termination = false;
  /// What trains the model: otherwise ranks that ended early lack the last steps in momentum and the like.
  std::vector<optim::Optimizer*> optimizers = {};
};

class Join {
 public:
  /// On all ranks alike. Throws Error when the model has a Join already.
  template <class M>
  explicit Join(const nn::DistributedDataParallel<M>& model, JoinOptions options = {})
      : Join(model.reducer(), std::move(options)) {}
  /// Calls finish(), unless an exception leaves the scope; may throw what finish() throws.
  ~Join() noexcept(false);
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  /// This rank is at the end of its data. Returns when all are. Throws Error when throw_on_early_termination
  /// is set and others are not, and DistributedError.
  void finish();

 private:
  Join(std::shared_ptr<nn::parallel::Reducer> reducer, JoinOptions options);

  std::shared_ptr<nn::parallel::Reducer> reducer_;  // null when finished
  JoinOptions options_;
  int exceptions_;  // that were under way at the start
};

}  // namespace tern::distributed
