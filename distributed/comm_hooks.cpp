#include <tern/distributed/comm_hooks.h>

#include <tern/kernels/copy.h>

#include <utility>

namespace tern::nn::parallel {

using namespace distributed;

namespace {

std::shared_ptr<Work> averaged(const Tensor& x, const Group& group) {
  return all_reduce(x, {.op = ReduceOp::avg, .group = group, .async_op = true});
}

// What travels is narrow; wait() brings it into `wide`.
class WideningWork final : public Work {
 public:
  WideningWork(Tensor narrow, Tensor wide, const Group& group)
      : narrow_(std::move(narrow)), wide_(std::move(wide)), work_(averaged(narrow_, group)) {}
  void wait() override {
    work_->wait();
    if (narrow_.defined()) kernels::copy(narrow_, wide_);
    narrow_ = Tensor();
  }
  bool is_completed() const override { return work_->is_completed(); }

 private:
  Tensor narrow_, wide_;
  std::shared_ptr<Work> work_;
};

std::shared_ptr<Work> compressed(const GradBucket& bucket, const Group& group, DType dtype) {
  if (size_of(bucket.buffer.dtype()) <= size_of(dtype)) return averaged(bucket.buffer, group);
  return std::make_shared<WideningWork>(kernels::to(bucket.buffer, dtype), bucket.buffer, group);
}

}  // namespace

std::shared_ptr<Work> allreduce_hook(const GradBucket& bucket, const Group& group) {
  return averaged(bucket.buffer, group);
}

std::shared_ptr<Work> fp16_compress_hook(const GradBucket& bucket, const Group& group) {
  return compressed(bucket, group, float16);
}

std::shared_ptr<Work> bf16_compress_hook(const GradBucket& bucket, const Group& group) {
  return compressed(bucket, group, bfloat16);
}

}  // namespace tern::nn::parallel
