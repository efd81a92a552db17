// SyncBatchNorm: batch norm over the batches of all ranks together.
//
//   ResNet net = …;
//   nn::SyncBatchNorm::convert(net);  // every BatchNorm1d and BatchNorm2d in it
//   nn::DistributedDataParallel model(net);
//
// In training, mean and variance are those of what all ranks hold, each value counting once: local batches
// may differ in size, and a rank may hold no sample at all, but it still has to call. So N ranks compute what
// one process computes on the whole batch, outputs, running statistics (the same bits on all ranks) and
// gradients. Means and sums of squared distances travel in float64 and are joined by Chan's formula, so that
// large means do no harm. One all_gather in forward, one all_reduce in backward (none where the input wants
// no gradient): all ranks run the same layers in the same order.
//
// The gradient of the input is that of the sum of all ranks' losses; those of weight and bias are the rank's
// part of it, which DistributedDataParallel then averages with all others. In evaluation, in a group of one
// rank, and without a group before init_process_group, it is BatchNorm. Not within DataParallel, whose
// replicas are one rank.
#pragma once

#include <tern/distributed/process_group.h>
#include <tern/nn/normalization.h>

namespace tern::nn {

struct SyncBatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  ///< none: running statistics are the mean over all batches
  bool affine = true;                    ///< whether there are weight and bias
  bool bias = true;
  bool track_running_stats = true;  ///< without, evaluation uses the statistics of the rank's own batch
  /// Null: in each pass the default group.
  std::shared_ptr<distributed::ProcessGroup> process_group = nullptr;
};

/// batch_norm() of [N, C, …]; members and errors are those of BatchNorm2d, but in training only one value per
/// channel on all ranks together is too few. DistributedError as from any collective.
class SyncBatchNorm : public BatchNorm<any_dims> {
 public:
  explicit SyncBatchNorm(int64_t num_features, const SyncBatchNormOptions& options = {});
  std::unique_ptr<Module> copy() const override { return std::make_unique<SyncBatchNorm>(*this); }

  /// Synchronises every BatchNorm1d and BatchNorm2d in `module`, itself included, in place: they keep their
  /// tensors and options, and still check the shapes of their inputs. All copies of the module see it, as
  /// copies share; clones made before do not. Returns the module. The group of layers that are synchronised
  /// already is replaced. As torch.nn.SyncBatchNorm.convert_sync_batchnorm.
  template <std::derived_from<Module> M>
  static M convert(M module, const std::shared_ptr<distributed::ProcessGroup>& process_group = nullptr) {
    convert_all(module, process_group);
    return module;
  }
  /// The same by PyTorch's name.
  template <std::derived_from<Module> M>
  static M convert_sync_batchnorm(M module,
                                  const std::shared_ptr<distributed::ProcessGroup>& process_group = nullptr) {
    return convert(std::move(module), process_group);
  }

 private:
  static void convert_all(Module& module, const std::shared_ptr<distributed::ProcessGroup>& process_group);
};

}  // namespace tern::nn
