#include <tern/distributed/sync_batch_norm.h>

#include <tern/distributed/collectives.h>
#include <tern/kernels/batch_norm.h>

namespace tern::nn {
namespace {

using distributed::Group;

class RanksOfBatch final : public kernels::BatchPeers {
 public:
  explicit RanksOfBatch(Group group) : group_(std::move(group)) {}
  Tensor gather(const Tensor& row) const override {
    Tensor rows = empty({group_->size(), row.numel()}, row.dtype(), row.device());
    distributed::all_gather_into_tensor(rows, row, {.group = group_});
    return rows;
  }
  void add(const Tensor& sums) const override { distributed::all_reduce(sums, {.group = group_}); }

 private:
  Group group_;
};

FindPeers ranks_of(Group group) {
  return [group = std::move(group)]() -> std::shared_ptr<const kernels::BatchPeers> {
    if (!group && !distributed::has_default_group()) return nullptr;
    const Group chosen = group ? group : distributed::default_group();
    return chosen->size() > 1 ? std::make_shared<RanksOfBatch>(chosen) : nullptr;
  };
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(int64_t num_features, const SyncBatchNormOptions& options)
    : BatchNorm(num_features, {.eps = options.eps,
                               .momentum = options.momentum,
                               .affine = options.affine,
                               .bias = options.bias,
                               .track_running_stats = options.track_running_stats}) {
  synchronise(ranks_of(options.process_group));
}

void SyncBatchNorm::convert_all(Module& module, const Group& group) {
  const auto synchronise = [&]<class Norm>(Module& part, Norm*) {
    if (auto* norm = dynamic_cast<Norm*>(&part)) norm->synchronise(ranks_of(group));
  };
  module.each_module([&](const std::string&, Module& part) {
    synchronise(part, static_cast<BatchNorm1d*>(nullptr));
    synchronise(part, static_cast<BatchNorm2d*>(nullptr));
    synchronise(part, static_cast<BatchNorm<any_dims>*>(nullptr));
  });
}

}  // namespace tern::nn
