// Operations that read more than 2^31 elements and give few.
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/ordering.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/optim/clip.h>
#include <tern/tests/long/large.h>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t width = 1024, last_row = boundary / width;  // [last_row + 1, width]
constexpr int64_t side = 46342;                               // of a square image

// Zeros; the last row holds 2 in the last column, and the first 1 in the first.
Tensor rows_of_zeros(DType dtype = float32) {
  const Tensor x = sparse_zeros({last_row + 1, width}, dtype);
  fill_(index(x, {last_row, width - 1}), 2), fill_(index(x, {0, 0}), 1);
  return x;
}

}  // namespace

TEST_CASE("integers and truth values: reductions of more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = marked(), wide = view(x, {2, half_size}), tall = view(x, {half_size, 2});
  CHECK(sum(x).item<int64_t>() == 15);
  CHECK(max(x).item<int64_t>() == 5);
  CHECK(argmax(x).item<int64_t>() == large_size - 1);
  CHECK(argmin(x).item<int64_t>() == 1);
  CHECK(equal(sum(wide, 1), tensor({1, 14})));
  CHECK(equal(sum(tall, 0), tensor({4, 11})));
  CHECK(equal(max(wide, 1).indices, tensor({int64_t{0}, half_size - 1})));
  CHECK(equal(max(tall, 0).indices, tensor({boundary / 2, half_size - 1})));
  CHECK(any(x).item<bool>());
  CHECK_FALSE(all(x).item<bool>());
  const Tensor one = expand(tensor({true}), {large_size});
  CHECK(all(one).item<bool>());
  CHECK(sum(one).item<int64_t>() == large_size);
}

TEST_CASE("floating-point numbers: reductions of more than 2^31 elements") {
  const EmptyCache at_end;
  for (const DType dtype : {float32, float16}) {
    const Tensor x = marked(dtype);
    CHECK(sum(x).item<double>() == 15);
    CHECK(max(x).item<double>() == 5);
    CHECK(argmax(x).item<int64_t>() == large_size - 1);
  }
  CHECK(mean(expand(tensor({1.5}), {large_size})).item<double>() == 1.5);
  const Tensor parameter = sparse_zeros({large_size}, float32).requires_grad_();
  parameter.set_grad(marked(float32));
  CHECK(optim::clip_grad_norm_({parameter}, INFINITY).item<double>() == doctest::Approx(std::sqrt(55.0)));
}

TEST_CASE("positions among more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = marked();
  std::vector<double> places, values;
  for (const Mark& mark : marks) {
    places.push_back(static_cast<double>(mark.place)), values.push_back(static_cast<double>(mark.value));
  }
  const Tensor found = nonzero(x);
  CHECK(values_of(found) == places);
  CHECK(values_of(masked_select(x, to(x, boolean))) == values);
  CHECK(values_of(gather(x, 0, select(found, 1, 0))) == values);
  CHECK(equal(nonzero(narrow(view(x, {2, half_size}), 1, half_size - 1, 1)), tensor({{1, 0}})));
  const ValuesAndIndices top = topk(view(rows_of_zeros(uint8), {last_row + 1, width}), 1);
  CHECK(value_at(top.values, last_row) == 2);
  CHECK(value_at(top.indices, last_row) == width - 1);
  CHECK(value_at(top.indices, last_row - 1) == 0);
}

TEST_CASE("products with more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = rows_of_zeros(), weight = arange(0.0, 1024.0);
  const Tensor y = matmul(x, weight), several = linear(x, stack({weight, weight}));
  CHECK(y.shape() == Shape{last_row + 1});
  CHECK(value_at(y, last_row) == 2 * 1023);
  CHECK(value_at(y, last_row - 1) == 0);
  CHECK(value_at(several, 2 * last_row + 1) == 2 * 1023);
  const Tensor column = matmul(t(x), ones({last_row + 1, 1}));
  CHECK(value_at(column, width - 1) == 2);
  CHECK(value_at(column, 0) == 1);
  CHECK(sum(column).item<double>() == 3);
}

TEST_CASE("losses over more than 2^31 logits") {
  const EmptyCache at_end;
  const Tensor x = rows_of_zeros(), target = expand(tensor({width - 1}), {last_row + 1});
  const Tensor loss = cross_entropy(x, target, {.reduction = Reduction::none});
  CHECK(value_at(loss, last_row - 1) == doctest::Approx(std::log(1024.0)));
  CHECK(value_at(loss, last_row) == doctest::Approx(std::log(1023 + std::exp(2.0)) - 2));
  CHECK(value_at(nll_loss(x, target, {.reduction = Reduction::none}), last_row) == -2);
}

TEST_CASE("images of more than 2^31 pixels") {
  const EmptyCache at_end;
  const Tensor x = sparse_zeros({1, 1, side, side}, float32);
  constexpr int64_t row = 46300, column = 46320;
  fill_(index(x, {0, 0, row, column}), 3);
  const ValuesAndIndices largest = max_pool2d_with_indices(x, 2000);
  CHECK(largest.values.shape() == Shape{1, 1, 23, 23});
  CHECK(max(largest.values).item<double>() == 0);  // the last 342 rows and columns are in no window
  CHECK(value_at(largest.indices, 22 * 23 + 22) == 44000 * side + 44000);
  const ValuesAndIndices all = adaptive_max_pool2d_with_indices(x, 5);
  CHECK(value_at(all.values, 24) == 3);
  CHECK(value_at(all.indices, 24) == row * side + column);
  const double pixels = static_cast<double>(side) * static_cast<double>(side);
  CHECK(adaptive_avg_pool2d(x, 1).item<double>() == doctest::Approx(3 / pixels));
  CHECK(value_at(avg_pool2d(x, 3000, {.stride = Size2(2889)}), 15 * 16 + 15) == doctest::Approx(3 / 9e6));
  for (const int64_t stride : {1000, 1158}) {
    const int64_t far = (side - 1) / stride * stride;
    fill_(index(x, {0, 0, far, far}), 4);
    const Tensor y = conv2d(x, full({1, 1, 1, 1}, 2.0), full({1}, 1.0), {.stride = stride});
    CHECK(value_at(y, 0) == 1);
    CHECK(value_at(y, y.numel() - 1) == 9);
  }
  fill_(index(x, {0, 0, side / 2, side / 2}), 6);
  CHECK(value_at(interpolate(x, {.size = Size2(2, 2)}), 3) == 6);
}
