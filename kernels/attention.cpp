#include <tern/kernels/attention.h>

#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/attention.h>

#include <algorithm>

namespace tern::kernels {
namespace {

template <class T>
const simd::AttentionLoops<T>& loops() {
  if constexpr (sizeof(T) == 4)
    return simd::attention_kernels().for_float;
  else
    return simd::attention_kernels().for_double;
}

Layout without_last(Layout layout) {
  layout.shape.erase(layout.dim() - 1);
  layout.strides.erase(layout.dim());
  return layout;
}

int64_t rows_per_block(int64_t size) { return std::max<int64_t>(1, iterate_block / size); }

template <class T>
void make_weights(const Tensor& scores, const Tensor& mask, bool causal) {
  const int64_t queries = scores.size(-2), keys = scores.size(-1);
  const bool masked = mask.defined(), is_bool = masked && mask.dtype() == boolean;
  const Layout full = masked ? mask.layout().expand(scores.shape()) : scores.layout();
  const T* const added = masked && !is_bool ? mask.data<T>() : nullptr;
  const bool* const kept = is_bool ? mask.data<bool>() : nullptr;
  T* const data = scores.data<T>();
  const Layout rows = without_last(scores.layout()), mask_rows = without_last(full);
  const IteratePlan plan = make_plan(rows.shape, {&rows, &mask_rows});
  parallel_for(plan.numel, rows_per_block(keys), [&](int64_t begin, int64_t end) {
    visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = offsets[0] + i * strides[0], mask_at = offsets[1] + i * strides[1];
        const int64_t query = at / keys % queries;
        loops<T>().weights({data + at, keys, causal ? std::min(query + 1, keys) : keys,
                            added ? added + mask_at : nullptr, kept ? kept + mask_at : nullptr,
                            full.strides.back()});
      }
    });
  });
}

template <class T>
void make_gradient(const Tensor& weights, const Tensor& dweights) {
  const int64_t keys = weights.size(-1);
  const T* const y = weights.data<T>();
  T* const dy = dweights.data<T>();
  parallel_for(weights.numel() / keys, rows_per_block(keys), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) loops<T>().backward(y + row * keys, dy + row * keys, keys);
  });
}

}  // namespace

void attention_weights_(const Tensor& scores, const Tensor& mask, bool causal) {
  if (scores.numel() == 0) return;
  dispatch_computing(scores.dtype(), [&]<class T>() { make_weights<T>(scores, mask, causal); });
}

void attention_weights_backward_(const Tensor& weights, const Tensor& dweights) {
  if (weights.numel() == 0) return;
  dispatch_computing(weights.dtype(), [&]<class T>() { make_gradient<T>(weights, dweights); });
}

}  // namespace tern::kernels
