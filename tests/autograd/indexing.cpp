// Indexing at its edges: repeated positions, nothing, what is refused. Expected values are PyTorch's where
// the comment does not say otherwise.
#include <tern/autograd/indexing.h>

#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/thread_pool.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();

Tensor leaf(const std::vector<double>& values) { return row(values).requires_grad_(); }

// The gradient of x when y's is 1, 2, 3, …
Tensor slope(const Tensor& y, const Tensor& x) {
  return grad(y, {x}, {.gradient = add(reshape(to(arange(y.numel()), y.dtype()), y.shape()), 1)})[0];
}

}  // namespace

TEST_CASE("scatter: of repeated positions the last in row-major order stays and gets the gradient") {
  const Tensor x = leaf({1, 2, 3, 4}), src = leaf({10, 20, 30});  // PyTorch gives each of them the gradient
  const Tensor y = scatter(x, 0, tensor({2, 0, 2}), src);
  CHECK(equal(y, row({20, 2, 30, 4})));
  CHECK(equal(x, row({1, 2, 3, 4})));
  CHECK(equal(slope(y, x), row({0, 2, 0, 4})));
  CHECK(equal(slope(scatter(x, 0, tensor({2, 0, 2}), src), src), row({0, 1, 3})));
  const Tensor columns =
      scatter(zeros({2, 3}), 1, tensor({{1, 1, 0}, {2, 2, 2}}), tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}));
  CHECK(equal(columns, tensor({{3.0, 2.0, 0.0}, {0.0, 0.0, 6.0}})));
}

TEST_CASE("scatter with a number takes x's dtype; NaN and infinities are moved, not computed with") {
  CHECK(equal(scatter(tensor({1, 2, 3}), 0, tensor({1}), 7.9), tensor({1, 7, 3})));
  CHECK(equal(scatter(tensor({false, false}), 0, tensor({1}), 2), tensor({false, true})));
  const Tensor x = leaf({1, NAN, INFINITY});
  const Tensor y = scatter(x, 0, tensor({1}), -INFINITY);
  CHECK(equal(y, row({1, -INFINITY, INFINITY})));
  CHECK(equal(slope(y, x), row({1, 0, 3})));
  CHECK(equal(gather(y.detach(), 0, tensor({2, 1, 2})), row({INFINITY, -INFINITY, INFINITY})));
}

TEST_CASE("half types add repeated positions in float32 and round once") {
  const Tensor one = to(ones({4096}), float16), nowhere = zeros({4096}, int64);
  const Tensor start = zeros({2}, float16);  // alone in float16 the sum would stay at 2048
  const Tensor expected = to(tensor({4096.0, 0.0}), float16);
  CHECK(equal(scatter_add(start, 0, nowhere, one), expected));
  CHECK(equal(index_add(start, 0, nowhere, one), expected));
  const Tensor weight = zeros({2, 1}, float16).requires_grad_();
  backward(sum(embedding(nowhere, weight)));
  CHECK(equal(reshape(weight.grad(), {2}), expected));
  const Tensor x = zeros({2}, float16).requires_grad_();
  backward(sum(gather(x, 0, nowhere)));
  CHECK(equal(x.grad(), expected));
}

TEST_CASE("integers that are added by position wrap around") {
  CHECK(equal(scatter_add(tensor({most}), 0, tensor({0}), tensor({1})), tensor({least})));
  CHECK(equal(index_add(tensor({least}), 0, tensor({0}), tensor({-1})), tensor({most})));
}

TEST_CASE("an index outside is named with its position and the size, and nothing is written") {
  const Tensor x = row({1, 2, 3}), two = row({4, 5});
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, most, least}) {
    const Tensor index = tensor({int64_t{0}, bad});
    const std::string what =
        ": index " + std::to_string(bad) + " at position 1 is outside a dimension of size 3";
    CHECK(fails_with("gather" + what, [&] { gather(x, 0, index); }));
    CHECK(fails_with("scatter" + what, [&] { scatter(x, 0, index, two); }));
    CHECK(fails_with("scatter" + what, [&] { scatter(x, 0, index, 1); }));
    CHECK(fails_with("scatter_add" + what, [&] { scatter_add(x, 0, index, two); }));
    CHECK(fails_with("index_add" + what, [&] { index_add(x, 0, index, two); }));
    CHECK(fails_with("embedding" + what, [&] { embedding(index, reshape(x, {3, 1})); }));
    CHECK(fails_with("one_hot" + what, [&] { one_hot(index, 3); }));
  }
  CHECK(equal(x, row({1, 2, 3})));
  const Tensor last = zeros({200000}, int64);  // found by whichever thread comes by
  last.data<int64_t>()[199998] = 9, last.data<int64_t>()[70000] = 5;
  CHECK(fails_with("gather: index 5 at position 70000", [&] { gather(x, 0, last); }));
  CHECK(fails_with("scatter: index 5 at position 70000", [&] { scatter(x, 0, last, 1); }));
  const Tensor columns = reshape(last, {1000, 200}), none = empty({0, 200});
  CHECK(fails_with("gather: index 5 at position 70000", [&] { gather(ones({3, 200}), 0, columns); }));
  CHECK(fails_with("scatter: index 5 at position 70000", [&] { scatter(ones({3, 200}), 0, columns, 1); }));
  CHECK(fails_with("gather: index 0 at position 0 is outside a dimension of size 0",
                   [&] { gather(none, 0, columns); }));
}

TEST_CASE("positions beyond 2^32 are positions") {
  const int64_t size = int64_t{1} << 33;
  const Tensor x = expand(tensor({7.0}), {size});
  CHECK(equal(gather(x, 0, tensor({size - 1, (int64_t{1} << 32) + 1})), tensor({7.0, 7.0})));
  CHECK(
      fails_with("gather: index 8589934592 at position 0 is outside", [&] { gather(x, 0, tensor({size})); }));
}

TEST_CASE("what does not fit is refused before anything is computed") {
  const Tensor x = scattered({3, 4}), index = zeros({2, 4}, int64);
  CHECK(fails_with("gather: dim must be from -2 to 1, got 2", [&] { gather(x, 2, index); }));
  CHECK(fails_with("gather: dim must be", [&] { gather(x, least, index); }));
  CHECK(fails_with("gather: index must be int64, got float64", [&] { gather(x, 0, x); }));
  CHECK(
      fails_with("gather: index must have 2 dimensions, got [2]", [&] { gather(x, 0, zeros({2}, int64)); }));
  CHECK(fails_with("gather: index [2, 5] is larger than [3, 4] in dimension 1", [&] {
    gather(x, 0, zeros({2, 5}, int64));
  }));
  CHECK(fails_with("scatter: index [2, 4] is larger than src [2, 3]", [&] {
    scatter(x, 0, index, scattered({2, 3}));
  }));
  CHECK(fails_with("scatter: tensors must have one dtype", [&] { scatter(x, 0, index, ones({2, 4})); }));
  CHECK(fails_with("scatter_add: bool",
                   [&] { scatter_add(ones({1}, boolean), 0, zeros({1}, int64), ones({1}, boolean)); }));
  CHECK(fails_with("index_add: src must be [2, 4]", [&] { index_add(x, 0, zeros({2}, int64), x); }));
  CHECK(fails_with("masked_select: the mask must be bool, got float64", [&] { masked_select(x, x); }));
  CHECK(fails_with("masked_select", [&] { masked_select(x, ones({3}, boolean)); }));
  CHECK(fails_with("embedding: weight must be [V, D]", [&] { embedding(index, row({1})); }));
  CHECK(fails_with("embedding: index must be int64", [&] { embedding(x, x); }));
  for (const int64_t bad : {int64_t{3}, int64_t{-4}, most, least})
    CHECK(fails_with("embedding: padding_idx must be from -3 to 2",
                     [&] { embedding(index, x, {.padding_idx = bad}); }));
}

TEST_CASE("embedding: the row of padding_idx is looked up like any other, and gets no gradient") {
  const Tensor weight = tensor_of({1, 2, 3, 4, NAN, 6}, {3, 2}).requires_grad_();
  for (const int64_t padding : {1, -2}) {
    const Tensor y = embedding(tensor({{1, 0}, {0, 2}}), weight, {.padding_idx = padding});
    CHECK(y.shape() == Shape{2, 2, 2});
    CHECK(equal(select(select(y.detach(), 0, 0), 0, 0), row({3, 4})));
    CHECK(equal(slope(y, weight), tensor_of({8, 10, 0, 0, 7, 8}, {3, 2})));
  }
  CHECK(embedding(tensor(1), weight).shape() == Shape{2});
}

TEST_CASE("embedding's gradient has the same bits for any number of threads, however often a row occurs") {
  const Tensor index = empty({6000}, int64);
  for (int64_t i = 0; i < 6000; ++i) index.data<int64_t>()[i] = i * i % 17;
  const int threads = get_num_threads();
  for (const DType dtype : {float32, bfloat16}) {
    std::vector<Tensor> gradients;
    for (const int count : {1, 4}) {
      set_num_threads(count);
      const Tensor weight = scattered({17, 300}, -1, 1, dtype).requires_grad_();
      backward(embedding(index, weight), {.gradient = upstream({6000, 300}, dtype)});
      gradients.push_back(weight.grad());
    }
    CHECK(bits_equal(gradients[0], gradients[1]));
  }
  set_num_threads(threads);
}

TEST_CASE("nonzero and masked_select: NaN is not zero, -0 is, and nothing gives nothing") {
  CHECK(equal(nonzero(row({0, NAN, -0.0, -INFINITY})), tensor({{1}, {3}})));
  CHECK(equal(nonzero(to(row({-0.0, 1, 0}), bfloat16)), tensor({{1}})));
  CHECK(nonzero(tensor(3)).shape() == Shape{1, 0});
  CHECK(nonzero(tensor(0)).shape() == Shape{0, 0});
  CHECK(nonzero(empty({0, 2})).shape() == Shape{0, 2});
  CHECK(equal(nonzero(transpose(tensor({{0, 1}, {2, 0}, {0, 3}}), 0, 1)), tensor({{0, 1}, {1, 0}, {1, 2}})));
  const Tensor x = leaf({NAN, 2, INFINITY}), y = masked_select(x, tensor({false, true, true}));
  CHECK(equal(y, row({2, INFINITY})));
  CHECK(equal(slope(y, x), row({0, 1, 2})));
  CHECK(masked_select(x, tensor(false)).shape() == Shape{0});
  CHECK(equal(slope(masked_select(x, tensor({{true}, {true}})), x), row({5, 7, 9})));
  const Tensor many = ones({100000}, boolean);
  many.data<bool>()[77777] = false;
  const Tensor places = nonzero(many);
  CHECK(places.numel() == 99999);
  CHECK(places.data<int64_t>()[77777] == 77778);
}

TEST_CASE("one_hot tells the number of classes from the largest index") {
  CHECK(equal(one_hot(tensor({1, 0})), tensor({{0, 1}, {1, 0}})));
  CHECK(one_hot(tensor(2)).shape() == Shape{3});
  CHECK(one_hot(empty({2, 0}, int64), 3).shape() == Shape{2, 0, 3});
  CHECK(fails_with("one_hot: num_classes must be given", [] { one_hot(empty({0}, int64)); }));
  CHECK(fails_with("one_hot: index -3 at position 0", [] { one_hot(tensor({-3})); }));
  CHECK(fails_with("one_hot: classes must not be negative, got -5", [] { one_hot(tensor({1}), -5); }));
  CHECK(fails_with("one_hot: index must be int64", [] { one_hot(row({1})); }));
  CHECK(fails_with("one_hot: index 9223372036854775807 is too large", [] { one_hot(tensor({most})); }));
  CHECK(fails_with("empty: shape", [] { one_hot(tensor({1}), most); }));
}

TEST_CASE("bincount counts, or sums weights") {
  CHECK(equal(bincount(tensor({3, 1, 3})), tensor({0, 1, 0, 2})));
  CHECK(bincount(empty({0}, int64)).shape() == Shape{0});
  CHECK(equal(bincount(empty({0}, uint8), {}, 2), tensor({0, 0})));
  CHECK(equal(bincount(from_vector<uint8_t>({1, 1}), tensor({0.5, 0.25})), tensor({0.0, 0.75})));
  CHECK(bincount(tensor({0}), tensor({2})).dtype() == float64);
  CHECK(fails_with("bincount: values must not be negative, got -1", [] { bincount(tensor({2, -1})); }));
  CHECK(fails_with("bincount: minlength must not be negative", [] { bincount(tensor({2}), {}, -1); }));
  CHECK(fails_with("bincount: needs integers in one dimension, got float64", [] { bincount(row({2})); }));
  CHECK(fails_with("bincount: there must be a weight for each", [] { bincount(tensor({2}), row({1, 2})); }));
  CHECK(fails_with("bincount: index 9223372036854775807 is too large", [] { bincount(tensor({most})); }));
}
