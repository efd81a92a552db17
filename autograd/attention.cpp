#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/kernels/attention.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/dropout.h>
#include <tern/kernels/matmul.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>

#include <cmath>

namespace tern {
namespace {

constexpr const char* operation = "scaled_dot_product_attention";

Tensor transposed(const Tensor& x) { return x.with_layout(x.layout().transpose(-2, -1)); }

Tensor widened(const Tensor& x) { return x.defined() ? kernels::to(x, computing_dtype(x.dtype())) : x; }

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
  check(is_floating_point(query.dtype()), operation, ": needs floating-point tensors, got ", query.dtype());
  for (const Tensor& other : {key, value}) {
    kernels::check_same_device(query, other, operation);
    kernels::check_same_dtype(query, other, operation);
  }
  check(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2 && query.size(-1) == key.size(-1) &&
            key.size(-2) == value.size(-2),
        operation, ": needs query [..., L, E], key [..., S, E] and value [..., S, Ev], got ", query.shape(),
        ", ", key.shape(), " and ", value.shape());
  const auto batch = [](Shape shape) {
    shape.erase(shape.dim() - 1), shape.erase(shape.dim() - 1);
    return shape;
  };
  Shape scores = broadcast_shapes(batch(query.shape()), batch(key.shape()), operation);
  (void)broadcast_shapes(scores, batch(value.shape()), operation);
  scores.push_back(query.size(-2)), scores.push_back(key.size(-2));
  if (!mask.defined()) return;
  kernels::check_same_device(query, mask, operation);
  check(mask.dtype() == boolean || mask.dtype() == query.dtype(), operation,
        ": attn_mask must be bool or of the query's dtype ", query.dtype(), ", got ", mask.dtype());
  check(broadcast_shapes(scores, mask.shape(), operation) == scores, operation, ": attn_mask of shape ",
        mask.shape(), " does not broadcast to ", scores);
}

// What backward keeps. The weights are those before dropout, whose random numbers can be drawn again.
struct SavedAttention {
  SavedTensor query, key, value, weights;
  Shape mask;
  double scale, dropout_p;
  RandomState state;

  Tensor dropped(const Tensor& x) const { return dropout_p == 0 ? x : kernels::dropout(x, dropout_p, state); }

  // With P the weights and D dropout: y = D(P) V, P = softmax(S + mask), S = scale Q K^T;
  // dV = D(P)^T dy, dP = D(dy V^T), dS = P (dP - sum(dP P)), dQ = scale dS K, dK = scale dS^T Q.
  Gradients operator()(const Tensor& dy, Wants wants) const {
    const DType dtype = dy.dtype();
    const Tensor d = widened(dy), p = weights.get();
    const auto product = [dtype](const Tensor& a, const Tensor& b, const Shape& shape) {
      return kernels::to(kernels::sum_to(kernels::matmul(a, b), shape), dtype);
    };
    const auto scaled = [&](const Tensor& x) { return kernels::mul(x, kernels::scalar_like(scale, x)); };
    Gradients gradients(4, Tensor());
    if (wants[2]) gradients[2] = product(transposed(dropped(p)), d, value.get().shape());
    if (!wants[0] && !wants[1] && !wants[3]) return gradients;
    const Tensor dp = kernels::sum_to(kernels::matmul(d, transposed(widened(value.get()))), p.shape());
    const Tensor ds = kernels::contiguous(dropped(dp));  // new memory: dp was
    kernels::attention_weights_backward_(p, ds);
    if (wants[0]) gradients[0] = product(ds, scaled(widened(key.get())), query.get().shape());
    if (wants[1]) gradients[1] = product(transposed(ds), scaled(widened(query.get())), key.get().shape());
    if (wants[3]) gradients[3] = kernels::to(kernels::sum_to(ds, mask), dtype);
    return gradients;
  }
};

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const OperationScope scope(operation);
  const double p = options.dropout_p;
  check(p >= 0 && p <= 1, operation, ": dropout_p must be from 0 to 1, got ", p);
  const Tensor& mask = options.attn_mask;
  check_inputs(query, key, value, mask);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  const Tensor q = widened(query);
  const Tensor weights =
      kernels::matmul(kernels::mul(q, kernels::scalar_like(scale, q)), transposed(widened(key)));
  kernels::attention_weights_(weights, widened(mask), options.is_causal);
  const RandomState state =
      p > 0 ? default_generator(query.device()).reserve(weights.numel()) : RandomState{};
  SavedAttention saved{SavedTensor(query),
                       SavedTensor(key),
                       SavedTensor(value),
                       SavedTensor(weights),
                       mask.defined() ? mask.shape() : Shape{},
                       scale,
                       p,
                       state};
  const Tensor y = kernels::matmul(saved.dropped(weights), widened(value));
  return record(operation, kernels::to(y, query.dtype()), {query, key, value, mask}, std::move(saved));
}

}  // namespace tern
