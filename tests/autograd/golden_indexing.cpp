#include <tern/autograd/indexing.h>
#include <tern/autograd/ordering.h>
#include <tern/autograd/reductions.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;
using P = const Parameters&;

int64_t whole(P p, const char* name) { return static_cast<int64_t>(p.number(name)); }
int64_t dim_of(P p) { return whole(p, "dim"); }

template <class Function>
GoldenOperation one(Function function) {
  return [function](const Tensors& x, P p) -> Tensors { return {function(x, p)}; };
}

template <class Function>
GoldenOperation two(Function function) {
  return [function](const Tensors& x, P p) -> Tensors {
    const ValuesAndIndices result = function(x[0], p);
    return {result.values, result.indices};
  };
}

Tensor golden_embedding(const Tensors& x, P p) {
  EmbeddingOptions options;
  if (p.has("padding")) options.padding_idx = whole(p, "padding");
  return embedding(x[0], x[1], options);
}

Tensor golden_prod(const Tensors& x, P p) {
  return p.has("dims") ? prod(x[0], Shape(p.list("dims")), p.flag("keepdim")) : prod(x[0]);
}

const GoldenTable operations{
    {"gather", one([](const Tensors& x, P p) { return gather(x[0], dim_of(p), x[1]); })},
    {"scatter", one([](const Tensors& x, P p) { return scatter(x[0], dim_of(p), x[1], x[2]); })},
    {"scatter_value",
     one([](const Tensors& x, P p) { return scatter(x[0], dim_of(p), x[1], p.number("value")); })},
    {"scatter_add", one([](const Tensors& x, P p) { return scatter_add(x[0], dim_of(p), x[1], x[2]); })},
    {"index_add", one([](const Tensors& x, P p) { return index_add(x[0], dim_of(p), x[1], x[2]); })},
    {"embedding", one(golden_embedding)},
    {"masked_select", one([](const Tensors& x, P) { return masked_select(x[0], x[1]); })},
    {"nonzero", one([](const Tensors& x, P) { return nonzero(x[0]); })},
    {"one_hot", one([](const Tensors& x, P p) { return one_hot(x[0], whole(p, "classes")); })},
    {"bincount", one([](const Tensors& x, P p) {
       return bincount(x[0], x.size() > 1 ? x[1] : Tensor(), whole(p, "minlength"));
     })},
    {"sort", two([](const Tensor& x, P p) { return sort(x, dim_of(p), p.flag("descending")); })},
    {"topk", two([](const Tensor& x, P p) { return topk(x, whole(p, "k"), dim_of(p), p.flag("largest")); })},
    {"argsort", one([](const Tensors& x, P p) { return argsort(x[0], dim_of(p), p.flag("descending")); })},
    {"cumsum", one([](const Tensors& x, P p) { return cumsum(x[0], dim_of(p)); })},
    {"prod", one(golden_prod)},
};

}  // namespace

TEST_CASE("indexing, order and scans: every golden case is met, value and gradients") {
  CHECK(golden_problems("indexing.safetensors", operations) == "");
}
