// What may take the place of all_reduce in DistributedDataParallel: hooks that reduce its buckets.
//
//   model.register_comm_hook(nn::parallel::bf16_compress_hook);
#pragma once

#include <tern/distributed/collectives.h>

#include <functional>
#include <memory>
#include <vector>

namespace tern::nn::parallel {

/// Gradients that travel together.
struct GradBucket {
  int64_t index;                   ///< buckets are reduced in this order, on all ranks alike
  bool is_last;                    ///< of this backward pass
  Tensor buffer;                   ///< one-dimensional: this rank's gradients one after another
  std::vector<Tensor> parameters;  ///< whose gradients these are, in the order of the buffer
};

/// Starts the reduction of a bucket and returns its Work, or null when it is done. When that Work's wait()
/// has returned, the buffer must hold the average over the ranks. Called on the thread that runs backward(),
/// while the pass goes on.
using CommHook =
    std::function<std::shared_ptr<distributed::Work>(const GradBucket&, const distributed::Group&)>;

/// The average by all_reduce: what happens without a hook.
std::shared_ptr<distributed::Work> allreduce_hook(const GradBucket& bucket, const distributed::Group& group);
/// The same in float16 or bfloat16: half the bytes of float32. Gradients are rounded to the narrow type,
/// added in float32 and rounded once more. In float16 what is beyond 65504 becomes infinite.
std::shared_ptr<distributed::Work> fp16_compress_hook(const GradBucket& bucket,
                                                      const distributed::Group& group);
std::shared_ptr<distributed::Work> bf16_compress_hook(const GradBucket& bucket,
                                                      const distributed::Group& group);

}  // namespace tern::nn::parallel
