#include <tern/tests/simgpu/cudnn/tests/attention.h>

namespace drive {
namespace {

struct Builder {
  const AttentionShape& s;
  Graph graph;
  int64_t next = 100;

  Tensor memory(int64_t uid, int64_t heads, int64_t rows, int64_t columns) const {
    return {uid,
            {s.batch, heads, rows, columns},
            {.strides = attention_strides(s, heads, rows, columns), .dtype = s.dtype}};
  }
  /// k and v with rows and columns exchanged.
  Tensor turned(int64_t uid, int64_t heads, int64_t rows, int64_t columns) const {
    Sizes strides = attention_strides(s, heads, rows, columns);
    std::swap(strides[2], strides[3]);
    return {uid, {s.batch, heads, columns, rows}, {.strides = strides, .dtype = s.dtype}};
  }
  Tensor scores(cudnnDataType_t dtype = CUDNN_DATA_FLOAT) {
    return {next++, {s.batch, s.heads, s.queries, s.keys}, {.dtype = dtype, .is_virtual = true}};
  }
  Tensor column() { return {next++, {s.batch, s.heads, s.queries, 1}, {.is_virtual = true}}; }
  static Tensor scalar(int64_t uid) { return {uid, {1, 1, 1, 1}, {.by_value = true}}; }

  Tensor pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor* b, Tensor y,
                   const PointwiseOptions& options = {}) {
    graph.pointwise(mode, {.x = &x, .b = b, .y = &y}, options);
    return y;
  }

  /// scale * q k' + bias, with minus infinity above the diagonal.
  Tensor masked_scores() {
    const Tensor q = memory(attention_q, s.heads, s.queries, s.width);
    const Tensor k = turned(attention_k, s.key_heads, s.keys, s.width);
    Tensor result = scores();
    graph.matmul(q, k, result);
    const Tensor scale = scalar(attention_scale);
    if (s.scale) result = pointwise(CUDNN_POINTWISE_MUL, result, &scale, scores());
    const Tensor bias(attention_bias, {1, s.heads, s.queries, s.keys}, {.dtype = s.dtype});
    if (s.bias) result = pointwise(CUDNN_POINTWISE_ADD, result, &bias, scores());
    if (!s.causal) return result;
    const Tensor row = pointwise(CUDNN_POINTWISE_GEN_INDEX, result, nullptr, scores(CUDNN_DATA_INT32),
                                 {.compute = CUDNN_DATA_INT32, .axis = 2});
    const Tensor column = pointwise(CUDNN_POINTWISE_GEN_INDEX, result, nullptr, scores(CUDNN_DATA_INT32),
                                    {.compute = CUDNN_DATA_INT32, .axis = 3});
    const Tensor mask = pointwise(CUDNN_POINTWISE_CMP_GE, row, &column, scores(CUDNN_DATA_BOOLEAN),
                                  {.compute = CUDNN_DATA_BOOLEAN});
    const Tensor infinity = scalar(attention_infinity), selected = scores();
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT,
                    {.x = &result, .b = &infinity, .t = &mask, .y = &selected});
    return selected;
  }

  Tensor dropped(const Tensor& p) {
    const Tensor seed(attention_seed, {1, 1, 1, 1}, {.dtype = CUDNN_DATA_INT64});
    const Tensor offset(attention_offset, {1, 1, 1, 1}, {.dtype = CUDNN_DATA_INT64});
    const Tensor mask = scores();
    Descriptor random(CUDNN_BACKEND_RNG_DESCRIPTOR);
    random.set(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_RNG_DISTRIBUTION_BERNOULLI);
    random.set(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 0.9).finalize();
    Descriptor operation(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RNG_DESC, random).set(CUDNN_ATTR_OPERATION_RNG_YDESC, mask.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_RNG_SEED, seed.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset.descriptor).finalize();
    graph.add(operation);
    const Tensor kept = pointwise(CUDNN_POINTWISE_MUL, p, &mask, scores());
    const Tensor keep = scalar(attention_keep);
    return pointwise(CUDNN_POINTWISE_MUL, kept, &keep, scores());
  }
};

Tensor stats_of(const AttentionShape& s) {
  return {attention_stats, {s.batch, s.heads, s.queries, 1}, {.is_virtual = !s.stats}};
}

}  // namespace

Sizes attention_strides(const AttentionShape& shape, int64_t heads, int64_t rows, int64_t columns) {
  if (!shape.heads_inside) return {heads * rows * columns, rows * columns, columns, 1};
  return {rows * heads * columns, columns, heads * columns, 1};
}

Graph attention_forward(const AttentionShape& s) {
  Builder b = {s, {}};
  const Tensor score = b.masked_scores(), most = b.column(), sum = b.column();
  b.graph.reduction(CUDNN_REDUCE_TENSOR_MAX, score, most);
  const Tensor shifted = b.pointwise(CUDNN_POINTWISE_SUB, score, &most, b.scores());
  const Tensor e = b.pointwise(CUDNN_POINTWISE_EXP, shifted, nullptr, b.scores());
  b.graph.reduction(CUDNN_REDUCE_TENSOR_ADD, e, sum);
  const Tensor log = b.pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, b.column());
  b.pointwise(CUDNN_POINTWISE_ADD, most, &log, stats_of(s));
  Tensor p = b.pointwise(CUDNN_POINTWISE_DIV, e, &sum, b.scores(s.dropout ? CUDNN_DATA_FLOAT : s.dtype));
  if (s.dropout) p = b.dropped(p);
  b.graph.matmul(p, b.memory(attention_v, s.key_heads, s.keys, s.value_width),
                 b.memory(attention_o, s.heads, s.queries, s.value_width));
  return b.graph;
}

Graph attention_backward(const AttentionShape& s) {
  Builder b = {s, {}};
  const Tensor o = b.memory(attention_o, s.heads, s.queries, s.value_width);
  const Tensor grad = b.memory(attention_do, s.heads, s.queries, s.value_width);
  const Tensor product(b.next++, o.dims, {.is_virtual = true}), drop = b.column();
  b.graph.pointwise(CUDNN_POINTWISE_MUL, {.x = &grad, .b = &o, .y = &product});
  b.graph.reduction(CUDNN_REDUCE_TENSOR_ADD, product, drop);
  const Tensor score = b.masked_scores(), stats = stats_of(s), scale = Builder::scalar(attention_scale);
  const Tensor shifted = b.pointwise(CUDNN_POINTWISE_SUB, score, &stats, b.scores());
  const Tensor p = b.pointwise(CUDNN_POINTWISE_EXP, shifted, nullptr, b.scores());
  const auto transposed = [&](const Tensor& of) {
    const Sizes dims = {s.batch, s.heads, s.keys, s.queries};
    const Sizes strides = {s.heads * s.queries * s.keys, s.queries * s.keys, 1, s.keys};
    const Tensor result(b.next++, dims, {.strides = strides, .dtype = s.dtype, .is_virtual = true});
    b.graph.reshape(of, result);
    return result;
  };
  b.graph.matmul(transposed(p), grad, b.memory(attention_dv, s.key_heads, s.keys, s.value_width));
  const Tensor dp = b.scores();
  b.graph.matmul(grad, b.turned(attention_v, s.key_heads, s.keys, s.value_width), dp);
  const Tensor centered = b.pointwise(CUDNN_POINTWISE_SUB, dp, &drop, b.scores());
  const Tensor by_p = b.pointwise(CUDNN_POINTWISE_MUL, centered, &p, b.scores());
  const Tensor ds = s.scale ? b.pointwise(CUDNN_POINTWISE_MUL, by_p, &scale, b.scores()) : by_p;
  b.graph.matmul(ds, b.memory(attention_k, s.key_heads, s.keys, s.width),
                 b.memory(attention_dq, s.heads, s.queries, s.width));
  b.graph.matmul(transposed(ds), b.memory(attention_q, s.heads, s.queries, s.width),
                 b.memory(attention_dk, s.key_heads, s.keys, s.width));
  return b.graph;
}

Graph attention_operation(const AttentionShape& s) {
  Builder b = {s, {}};
  const Tensor q = b.memory(attention_q, s.heads, s.queries, s.width), stats = stats_of(s);
  const Tensor k = b.memory(attention_k, s.key_heads, s.keys, s.width);
  const Tensor v = b.memory(attention_v, s.key_heads, s.keys, s.value_width);
  const Tensor o = b.memory(attention_o, s.heads, s.queries, s.value_width);
  const Tensor scale = Builder::scalar(attention_scale);
  Tensors tensors = {{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, &q},
                     {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, &k},
                     {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, &v},
                     {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, &o}};
  if (s.stats) tensors[CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC] = &stats;
  if (s.scale) tensors[CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC] = &scale;
  b.graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, tensors);
  return b.graph;
}

}  // namespace drive
