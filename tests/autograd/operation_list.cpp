#include <tern/tests/autograd/operation_list.h>

#include <tern/tern.h>
#include <tern/tests/support/layouts.h>

namespace tern::tests {
namespace {

using Entry = OperationEntry;

// A tensor of a dtype, with values between 0 and 1.
Tensor some(const Shape& shape, DType dtype) { return to(scattered(shape, 0.1, 0.95), dtype); }

const Tensor positions = tensor({1, 0});

template <class Function>
Entry one(const char* name, const char* pytorch, Function function) {
  return {name, pytorch, [function](DType d) { function(some({2, 2}, d)); }};
}

template <class Function>
Entry two(const char* name, const char* pytorch, Function function) {
  return {name, pytorch, [function](DType d) { function(some({2, 2}, d), some({2, 2}, d)); }};
}

using T = const Tensor&;

std::vector<Entry> arithmetic() {
  return {two("add", "add, +", [](T a, T b) { add(a, b); }),
          two("sub", "sub, -", [](T a, T b) { sub(a, b); }),
          two("mul", "mul, *", [](T a, T b) { a* b; }),
          two("div", "div, /", [](T a, T b) { div(a, b); }),
          two("add_", "add_, +=", [](T a, T b) { add_(a, b); }),
          two("sub_", "sub_, -=", [](T a, T b) { sub_(a, b); }),
          two("mul_", "mul_, *=", [](T a, T b) { mul_(a, b); }),
          two("div_", "div_, /=", [](T a, T b) { div_(a, b); }),
          two("copy_", "Tensor.copy_", [](T a, T b) { copy_(a, b); }),
          one("fill_", "Tensor.fill_", [](T x) { fill_(x, 1); }),
          one("zero_", "Tensor.zero_", [](T x) { zero_(x); }),
          two("pow", "pow", [](T a, T b) { pow(a, b); }),
          two("maximum", "maximum", [](T a, T b) { maximum(a, b); }),
          two("minimum", "minimum", [](T a, T b) { minimum(a, b); }),
          one("clamp", "clamp", [](T x) { clamp(x, 0, 1); }),
          two("where", "where", [](T a, T b) { where(a == b, a, b); }),
          one("masked_fill", "masked_fill", [](T x) { masked_fill(x, x == x, 1); })};
}

std::vector<Entry> comparisons() {
  return {two("eq", "eq, ==", [](T a, T b) { eq(a, b); }),
          two("ne", "ne, !=", [](T a, T b) { ne(a, b); }),
          two("lt", "lt, <", [](T a, T b) { lt(a, b); }),
          two("le", "le, <=", [](T a, T b) { le(a, b); }),
          two("gt", "gt, >", [](T a, T b) { gt(a, b); }),
          two("ge", "ge, >=", [](T a, T b) { ge(a, b); }),
          two("logical_and", "logical_and", [](T a, T b) { logical_and(a, b); }),
          two("logical_or", "logical_or", [](T a, T b) { logical_or(a, b); }),
          two("logical_xor", "logical_xor", [](T a, T b) { logical_xor(a, b); }),
          one("logical_not", "logical_not", [](T x) { logical_not(x); }),
          two("equal", "equal", [](T a, T b) { static_cast<void>(equal(a, b)); }),
          two("allclose", "allclose", [](T a, T b) { static_cast<void>(allclose(a, b)); })};
}

std::vector<Entry> functions() {
  return {one("neg", "neg", [](T x) { neg(x); }),
          one("abs", "abs", [](T x) { abs(x); }),
          one("sign", "sign", [](T x) { sign(x); }),
          one("square", "square", [](T x) { square(x); }),
          one("sqrt", "sqrt", [](T x) { sqrt(x); }),
          one("rsqrt", "rsqrt", [](T x) { rsqrt(x); }),
          one("reciprocal", "reciprocal", [](T x) { reciprocal(x); }),
          one("exp", "exp", [](T x) { exp(x); }),
          one("expm1", "expm1", [](T x) { expm1(x); }),
          one("log", "log", [](T x) { log(x); }),
          one("log1p", "log1p", [](T x) { log1p(x); }),
          one("sin", "sin", [](T x) { sin(x); }),
          one("cos", "cos", [](T x) { cos(x); }),
          one("erf", "erf", [](T x) { erf(x); }),
          one("round", "round", [](T x) { round(x); }),
          one("floor", "floor", [](T x) { floor(x); }),
          one("ceil", "ceil", [](T x) { ceil(x); }),
          one("tanh", "tanh", [](T x) { tanh(x); }),
          one("sigmoid", "sigmoid", [](T x) { sigmoid(x); }),
          one("relu", "relu", [](T x) { relu(x); })};
}

std::vector<Entry> activations() {
  return {one("leaky_relu", "functional.leaky_relu", [](T x) { leaky_relu(x); }),
          one("elu", "functional.elu", [](T x) { elu(x); }),
          one("gelu", "functional.gelu", [](T x) { gelu(x); }),
          one("silu", "functional.silu", [](T x) { silu(x); }),
          one("softplus", "functional.softplus", [](T x) { softplus(x); }),
          one("softmax", "softmax", [](T x) { softmax(x, 1); }),
          one("log_softmax", "log_softmax", [](T x) { log_softmax(x, 1); }),
          one("dropout", "functional.dropout", [](T x) { dropout(x); }),
          one("dropout2d", "functional.dropout2d",
              [](T x) {
                dropout2d(reshape(x, {1, 2, 2, 1}));
              }),
          one("normalize", "functional.normalize", [](T x) { normalize(x); }),
          two("cosine_similarity", "cosine_similarity", [](T a, T b) { cosine_similarity(a, b); })};
}

std::vector<Entry> reductions() {
  return {one("sum", "sum", [](T x) { sum(x); }),
          one("mean", "mean", [](T x) { mean(x); }),
          one("prod", "prod", [](T x) { prod(x); }),
          one("max", "max", [](T x) { max(x, 0); }),
          one("min", "min", [](T x) { min(x, 0); }),
          one("amax", "amax", [](T x) { amax(x); }),
          one("amin", "amin", [](T x) { amin(x); }),
          one("argmax", "argmax", [](T x) { argmax(x); }),
          one("argmin", "argmin", [](T x) { argmin(x); }),
          one("any", "any", [](T x) { any(x); }),
          one("all", "all", [](T x) { all(x); }),
          one("var", "var", [](T x) { var(x); }),
          one("stddev", "std", [](T x) { stddev(x); }),
          one("norm", "linalg.vector_norm", [](T x) { norm(x); }),
          one("logsumexp", "logsumexp", [](T x) { logsumexp(x, {1}); })};
}

std::vector<Entry> products() {
  return {two("matmul", "matmul, @", [](T a, T b) { matmul(a, b); }),
          two("dot", "dot", [](T a, T b) { dot(select(a, 0, 0), select(b, 0, 0)); }),
          two("outer", "outer", [](T a, T b) { outer(select(a, 0, 0), select(b, 0, 0)); }),
          two("bmm", "bmm", [](T a, T b) { bmm(unsqueeze(a, 0), unsqueeze(b, 0)); }),
          two("einsum", "einsum",
              [](T a, T b) {
                einsum("ij,jk->ik", {a, b});
              }),
          two("linear", "functional.linear", [](T a, T b) { linear(a, b); }),
          two("flatten_linear", "functional.linear of flatten",
              [](T a, T b) {
                flatten_linear(reshape(a, {2, 2, 1, 1}), b);
              }),
          two("scaled_dot_product_attention", "functional.scaled_dot_product_attention",
              [](T a, T b) { scaled_dot_product_attention(a, b, b); })};
}

Tensor image(DType dtype) { return some({1, 2, 4, 4}, dtype); }
Tensor row(DType dtype) { return some({1, 2, 4}, dtype); }
Tensor kernel(DType dtype) { return some({2, 2, 3, 3}, dtype); }

std::vector<Entry> images() {
  return {{"conv2d", "functional.conv2d", [](DType d) { conv2d(image(d), kernel(d)); }},
          {"conv2d_relu", "relu of conv2d", [](DType d) { conv2d_relu(image(d), kernel(d)); }},
          {"conv2d_relu_max_pool2d", "max_pool2d of relu of conv2d",
           [](DType d) { conv2d_relu_max_pool2d(image(d), kernel(d)); }},
          {"conv_transpose2d", "functional.conv_transpose2d",
           [](DType d) { conv_transpose2d(image(d), kernel(d)); }},
          {"conv1d", "functional.conv1d",
           [](DType d) {
             conv1d(row(d), some({2, 2, 3}, d));
           }},
          {"max_pool2d", "functional.max_pool2d", [](DType d) { max_pool2d(image(d), 2); }},
          {"max_pool2d_with_indices", "functional.max_pool2d(return_indices=True)",
           [](DType d) { max_pool2d_with_indices(image(d), 2); }},
          {"avg_pool2d", "functional.avg_pool2d", [](DType d) { avg_pool2d(image(d), 2); }},
          {"adaptive_avg_pool2d", "functional.adaptive_avg_pool2d",
           [](DType d) { adaptive_avg_pool2d(image(d), 3); }},
          {"adaptive_max_pool2d", "functional.adaptive_max_pool2d",
           [](DType d) { adaptive_max_pool2d(image(d), 3); }},
          {"adaptive_max_pool2d_with_indices", "functional.adaptive_max_pool2d(return_indices=True)",
           [](DType d) { adaptive_max_pool2d_with_indices(image(d), 3); }},
          {"max_pool1d", "functional.max_pool1d", [](DType d) { max_pool1d(row(d), 2); }},
          {"avg_pool1d", "functional.avg_pool1d", [](DType d) { avg_pool1d(row(d), 2); }},
          {"interpolate", "functional.interpolate", [](DType d) { interpolate(image(d), {.size = 8}); }}};
}

std::vector<Entry> normalisations() {
  return {one("batch_norm", "functional.batch_norm",
              [](T x) { batch_norm(x, {}, {}, {}, {}, {.training = true}); }),
          one("layer_norm", "functional.layer_norm", [](T x) { layer_norm(x, {2}); }),
          one("group_norm", "functional.group_norm", [](T x) { group_norm(x, 1); }),
          one("rms_norm", "functional.rms_norm", [](T x) { rms_norm(x, {2}); })};
}

std::vector<Entry> losses() {
  return {two("mse_loss", "functional.mse_loss", [](T a, T b) { mse_loss(a, b); }),
          two("l1_loss", "functional.l1_loss", [](T a, T b) { l1_loss(a, b); }),
          two("smooth_l1_loss", "functional.smooth_l1_loss", [](T a, T b) { smooth_l1_loss(a, b); }),
          two("huber_loss", "functional.huber_loss", [](T a, T b) { huber_loss(a, b); }),
          two("binary_cross_entropy", "functional.binary_cross_entropy",
              [](T a, T b) { binary_cross_entropy(a, b); }),
          two("binary_cross_entropy_with_logits", "functional.binary_cross_entropy_with_logits",
              [](T a, T b) { binary_cross_entropy_with_logits(a, b); }),
          two("kl_div", "functional.kl_div", [](T a, T b) { kl_div(a, b); }),
          one("nll_loss", "functional.nll_loss", [](T x) { nll_loss(x, positions); }),
          one("cross_entropy", "functional.cross_entropy", [](T x) { cross_entropy(x, positions); })};
}

std::vector<Entry> views() {
  return {one("view", "Tensor.view", [](T x) { view(x, {4}); }),
          one("reshape", "reshape", [](T x) { reshape(x, {4}); }),
          one("flatten", "flatten", [](T x) { flatten(x); }),
          one("transpose", "transpose", [](T x) { transpose(x, 0, 1); }),
          one("t", "t", [](T x) { t(x); }),
          one("permute", "permute",
              [](T x) {
                permute(x, {1, 0});
              }),
          one("squeeze", "squeeze", [](T x) { squeeze(x, 0); }),
          one("unsqueeze", "unsqueeze", [](T x) { unsqueeze(x, 0); }),
          one("expand", "Tensor.expand",
              [](T x) {
                expand(x, {3, 2, 2});
              }),
          one("select", "select", [](T x) { select(x, 0, 1); }),
          one("slice", "x[a:b:c]", [](T x) { slice(x, 0, 0, 2, 2); }),
          one("narrow", "narrow", [](T x) { narrow(x, 0, 0, 1); }),
          one("diagonal", "diagonal", [](T x) { diagonal(x); }),
          one("index", "x[i, a:b, t]",
              [](T x) {
                index(x, {1, Slice(0, 1)});
              }),
          one("index_select", "index_select", [](T x) { index_select(x, 0, positions); }),
          two("cat", "cat", [](T a, T b) {
            cat({a, b});
          })};
}

std::vector<Entry> rearrangements() {
  return {two("stack", "stack",
              [](T a, T b) {
                stack({a, b});
              }),
          one("split", "split", [](T x) { split(x, 1); }),
          one("chunk", "chunk", [](T x) { chunk(x, 2); }),
          one("unbind", "unbind", [](T x) { unbind(x); }),
          one("movedim", "movedim", [](T x) { movedim(x, 0, 1); }),
          one("swapaxes", "swapaxes", [](T x) { swapaxes(x, 0, 1); }),
          one("flip", "flip", [](T x) { flip(x, {0}); }),
          one("roll", "roll", [](T x) { roll(x, {1}, {0}); }),
          one("repeat", "Tensor.repeat",
              [](T x) {
                repeat(x, {2, 1});
              }),
          one("repeat_interleave", "repeat_interleave", [](T x) { repeat_interleave(x, 2); }),
          one("tril", "tril", [](T x) { tril(x); }),
          one("triu", "triu", [](T x) { triu(x); }),
          one("pad", "functional.pad", [](T x) {
            pad(x, {1, 1});
          })};
}

std::vector<Entry> indexing() {
  const Tensor at = tensor({{0, 1}, {1, 0}});
  return {one("gather", "gather", [at](T x) { gather(x, 0, at); }),
          two("scatter", "scatter", [at](T a, T b) { scatter(a, 0, at, b); }),
          two("scatter_add", "scatter_add", [at](T a, T b) { scatter_add(a, 0, at, b); }),
          two("index_add", "index_add", [](T a, T b) { index_add(a, 0, positions, b); }),
          one("masked_select", "masked_select", [](T x) { masked_select(x, x == x); }),
          one("nonzero", "nonzero", [](T x) { nonzero(x); }),
          one("embedding", "functional.embedding (weight)", [](T x) { embedding(positions, x); }),
          one("one_hot", "functional.one_hot", [](T x) { one_hot(x, 2); }),
          one("bincount", "bincount", [](T x) { bincount(flatten(x)); })};
}

std::vector<Entry> ordering() {
  return {one("sort", "sort", [](T x) { sort(x); }), one("argsort", "argsort", [](T x) { argsort(x); }),
          one("topk", "topk", [](T x) { topk(x, 1); }), one("cumsum", "cumsum", [](T x) { cumsum(x, 0); })};
}

std::vector<Entry> sequences() {
  return {{"lstm", "lstm (one layer)",
           [](DType d) {
             const Tensor h = some({2, 3}, d);
             lstm(some({4, 2, 2}, d), h, h, some({12, 2}, d), some({12, 3}, d));
           }},
          {"gru", "gru (one layer)", [](DType d) {
             gru(some({4, 2, 2}, d), some({2, 3}, d), some({9, 2}, d), some({9, 3}, d));
           }}};
}

std::vector<Entry> conversions() {
  return {one("to", "Tensor.to", [](T x) { to(x, float32); }), one("clone", "clone", [](T x) { clone(x); }),
          one("contiguous", "Tensor.contiguous", [](T x) { contiguous(t(x)); })};
}

}  // namespace

std::vector<OperationSection> operation_list() {
  return {{"Arithmetic and choice", "autograd/operators.h", arithmetic()},
          {"Comparison and logic", "autograd/operators.h", comparisons()},
          {"Functions of one variable", "autograd/operators.h", functions()},
          {"Activations, dropout, similarity", "autograd/functional.h", activations()},
          {"Reductions", "autograd/reductions.h, autograd/statistics.h", reductions()},
          {"Products and attention", "autograd/functional.h", products()},
          {"Images", "autograd/functional.h", images()},
          {"Normalisation", "autograd/functional.h", normalisations()},
          {"Losses", "autograd/losses.h", losses()},
          {"Views and indexing", "autograd/views.h", views()},
          {"Joining, splitting, rearranging", "autograd/rearrange.h", rearrangements()},
          {"Indices as tensors", "autograd/indexing.h", indexing()},
          {"Order and running sums", "autograd/ordering.h", ordering()},
          {"Sequences", "autograd/recurrent.h", sequences()},
          {"Conversion", "autograd/convert.h", conversions()}};
}

}  // namespace tern::tests
