// Joining, splitting, rearranging and padding: other dtypes, NaN, and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max(),
                  smallest = std::numeric_limits<int64_t>::min();

Shape shape_of(const std::vector<Tensor>& parts, size_t i) { return parts.at(i).shape(); }

// One dimension padded by the definition: the slices of x, one after the other. Only circular repeats what is
// left after cutting; the others know all of x.
Tensor padded_dim(const Tensor& x, int64_t dim, int64_t before, int64_t after, PadMode mode) {
  const int64_t cut = std::max<int64_t>(-before, 0), size = x.size(dim);
  const int64_t kept = size - cut - std::max<int64_t>(-after, 0);
  std::vector<Tensor> slices;
  for (int64_t at = -before; at < size + after; ++at) {
    const int64_t mirrored = at < 0 ? -at : at < size ? at : 2 * (size - 1) - at;
    const int64_t source = mode == PadMode::reflect    ? mirrored
                           : mode == PadMode::circular ? cut + (at - cut + kept) % kept
                                                       : std::clamp<int64_t>(at, 0, size - 1);
    const bool inside = at >= 0 && at < size;
    slices.push_back(inside || mode != PadMode::constant ? select(x, dim, source)
                                                         : full_like(select(x, dim, 0), 7));
  }
  return stack(slices, dim);
}

// The dimensions that are padded, the last one first.
Tensor padded(Tensor x, const std::vector<int64_t>& padding, PadMode mode) {
  for (size_t k = 0; k < padding.size(); k += 2)
    x = padded_dim(x, x.dim() - 1 - static_cast<int64_t>(k / 2), padding[k], padding[k + 1], mode);
  return x;
}

}  // namespace

TEST_CASE("parts are views of one memory; a write in one is seen in all") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  split(x, 2, 1)[1].data<int64_t>()[0] = 30;
  unbind(x)[1].data<int64_t>()[0] = 40;
  diagonal(x).data<int64_t>()[0] = 10;
  CHECK(equal(x, tensor({{10, 2, 30}, {40, 5, 6}})));
  CHECK(movedim(x, 0, 1).storage() == x.storage());
  CHECK(stack({x, x}).storage() != x.storage());
}

TEST_CASE("chunk gives at most as many as asked for, split takes what is left") {
  const Tensor x = arange(11);
  CHECK(chunk(x, 6).size() == 6);
  CHECK(shape_of(chunk(x, 6), 5) == Shape{1});
  CHECK(chunk(x, 8).size() == 6);
  CHECK(chunk(x, largest).size() == 11);
  CHECK(chunk(arange(9), 8).size() == 5);
  CHECK(shape_of(chunk(arange(9), 8), 4) == Shape{1});
  CHECK(split(x, largest).size() == 1);
  CHECK(chunk(empty({0, 3}), 4).size() == 1);
  CHECK(split(empty({0, 3}), 2).size() == 1);
  CHECK(split(x, {11}).size() == 1);  // a list of sizes, not a size
  CHECK(fails_with("split: the sizes leave 1", [&] { split(x, {10}); }));
  CHECK(fails_with("split: the sizes must add up to 11", [&] { split(x, {largest, largest}); }));
  CHECK(fails_with("split: the sizes must add up to 11", [&] { split(x, {12, -1}); }));
  CHECK(fails_with("split: split_size must be above 0, got 0", [&] { split(x, 0); }));
  CHECK(fails_with("chunk: chunks must be above 0, got -1", [&] { chunk(x, -1); }));
  CHECK(fails_with("split: needs a tensor with dimensions", [] { split(tensor(1), 1); }));
  CHECK(fails_with("unbind: dim must be", [&] { unbind(x, 1); }));
  CHECK(unbind(empty({0, 2})).empty());
}

TEST_CASE("stack promotes dtypes, and refuses shapes that differ") {
  CHECK(stack({tensor({1, 2}), tensor({0.5, 1.0})}).dtype() == float32);
  CHECK(fails_with("stack: shapes [2] and [3] differ", [] { stack({empty({2}), empty({3})}); }));
  CHECK(fails_with("stack: needs at least one tensor", [] { stack(std::vector<Tensor>{}); }));
  CHECK(fails_with("stack: dim must be", [] { stack({empty({2})}, 2); }));
}

TEST_CASE("every dtype is rearranged, NaN where it was") {
  CHECK(equal(flip(tensor({true, false}), {0}), tensor({false, true})));
  CHECK(equal(roll(tensor({1, 2, 3}), {1}), tensor({3, 1, 2})));
  CHECK(equal(roll(tensor({1, 2, 3}), {smallest}, {0}), roll(tensor({1, 2, 3}), {-2}, {0})));
  CHECK(equal(repeat(from_vector<uint8_t>({1, 2}), {2}), from_vector<uint8_t>({1, 2, 1, 2})));
  CHECK(equal(pad(tensor({true, false}), {1, 1}, PadMode::constant, 1), tensor({true, true, false, true})));
  CHECK(equal(pad(tensor({1, 2, 3}), {2, 1}, PadMode::reflect), tensor({3, 2, 1, 2, 3, 2})));
  const Tensor odd = tensor_of({1, NAN, INFINITY}, {3});
  CHECK(bits_equal(flip(odd, {0}), tensor_of({INFINITY, NAN, 1}, {3})));
  CHECK(bits_equal(pad(odd, {1, 1}, PadMode::reflect), tensor_of({NAN, 1, NAN, INFINITY, NAN}, {5})));
  CHECK(bits_equal(triu(tensor_of({NAN, INFINITY, NAN, 1}, {2, 2}), 1),
                   tensor_of({0, INFINITY, 0, 0}, {2, 2})));
}

TEST_CASE("the triangle's other part gets a zero gradient, whatever arrives there") {
  const Tensor x = tensor_of({1, 2, 3, 4}, {2, 2}).requires_grad_();
  backward(tril(x), {.gradient = tensor_of({1, NAN, 1, 1}, {2, 2})});
  CHECK(bits_equal(x.grad(), tensor_of({1, 0, 1, 1}, {2, 2})));
  CHECK(equal(tril(tensor({{1, 2}, {3, 4}}), largest), tensor({{1, 2}, {3, 4}})));
  CHECK(equal(triu(tensor({{1, 2}, {3, 4}}), largest), tensor({{0, 0}, {0, 0}})));
  CHECK(equal(tril(tensor({{1, 2}, {3, 4}}), smallest), tensor({{0, 0}, {0, 0}})));
  CHECK(diagonal(x, smallest).numel() == 0);
}

TEST_CASE("many repetitions add up their half-precision gradients in float32") {
  const Tensor x = tensor_of({1}, {1}, float16).requires_grad_();
  backward(sum(repeat(x, {4097})));
  CHECK(x.grad().item<double>() == 4096);  // the nearest float16; one by one it would stop at 2048
  const Tensor edge = tensor_of({1, 2}, {1, 2}, float16).requires_grad_();
  backward(pad(edge, {4096, 0}, PadMode::replicate), {.gradient = full({1, 4098}, 1, float16)});
  CHECK(values_of(edge.grad()) == std::vector<double>{4096, 1});
}

TEST_CASE("an image that is channels-last stays so, padded and turned") {
  const Tensor x = laid_out(scattered({2, 3, 4, 5}), Lay::channels_last);
  CHECK(pad(x, {1, 1, 1, 1}).is_channels_last());
  CHECK(flip(x, {2}).is_channels_last());
  CHECK(roll(x, {1, 1}, {2, 3}).is_channels_last());
}

TEST_CASE("padding takes each element from where it should, whatever is padded, cut and laid out") {
  const std::vector<std::vector<int64_t>> paddings{{1, 2},
                                                   {-1, 2},
                                                   {3, -2},
                                                   {-2, 4},
                                                   {2, -1, -2, 1},
                                                   {0, 0, 1, 2},
                                                   {2, 1, -1, 1},
                                                   {1, 1, 2, 2},
                                                   {0, 0, 0, 0, 1, 2},
                                                   {1, 0, 0, 2, 2, 1},
                                                   {0, 0, 0, 0, 0, 0, 1, 1},
                                                   {-2, -1, 1, 1, 0, 0, 1, 0},
                                                   {1, 1, 1, 1, 1, 1, 1, 1},
                                                   {0, 0}};
  for (const DType dtype : {float64, float32, bfloat16, uint8}) {
    const Tensor x = to(scattered({3, 5, 4, 6}, 0, 200), dtype);
    for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular})
      for (const auto& padding : paddings)
        for (const Lay lay : all_lays)
          CHECK(equal(pad(laid_out(x, lay), padding, mode, 7), padded(x, padding, mode)));
  }
}

TEST_CASE("padding around nothing is the value alone") {
  CHECK(equal(pad(empty({2, 0}), {1, 2}, PadMode::constant, 5), full({2, 3}, 5)));
  CHECK(equal(pad(ones({2, 3}), {-2, -1, 1, 0}), empty({3, 0})));
  CHECK(equal(pad(ones({2, 3}), {-2, 2, -1, 1}, PadMode::constant, 5),
              tensor({{1.f, 5.f, 5.f}, {5.f, 5.f, 5.f}})));
  CHECK(equal(pad(ones({2, 3}), {-3, 1}, PadMode::constant, 5), full({2, 1}, 5)));
}

TEST_CASE("padding and cutting at once: edges are mirrored and repeated before the cut, as in PyTorch") {
  const Tensor x = tensor({1, 2, 3, 4, 5});
  CHECK(equal(pad(x, {-1, 4}, PadMode::reflect), tensor({2, 3, 4, 5, 4, 3, 2, 1})));
  CHECK(equal(pad(x, {-6, 3}, PadMode::reflect), tensor({3, 2})));
  CHECK(equal(pad(x, {4, -3}, PadMode::reflect), tensor({5, 4, 3, 2, 1, 2})));
  CHECK(equal(pad(x, {-5, 2}, PadMode::replicate), tensor({5, 5})));
  CHECK(equal(pad(x, {3, -7}, PadMode::replicate), tensor({1})));
  CHECK(equal(pad(x, {-1, 4}, PadMode::circular), tensor({2, 3, 4, 5, 2, 3, 4, 5})));
  CHECK(equal(pad(x, {-5, 2}, PadMode::constant), tensor({0, 0})));
  CHECK(fails_with("pad: cannot cut", [&] { pad(x, {-9, 3}, PadMode::reflect); }));
  CHECK(fails_with("pad: cannot cut", [&] { pad(x, {smallest, 3}, PadMode::replicate); }));
  CHECK(fails_with("too few to mirror 5", [&] { pad(x, {-1, 5}, PadMode::reflect); }));
  CHECK(fails_with("too few to repeat for 5", [&] { pad(x, {-1, 5}, PadMode::circular); }));
  CHECK(fails_with("more than 2^63 - 1", [&] { pad(x, {-1, largest}, PadMode::replicate); }));
}

TEST_CASE("rows of every length are reversed, in every size of element") {
  for (const DType dtype : {float64, float32, float16, uint8}) {
    for (const int64_t size : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 1000}) {
      const Tensor x = to(scattered({3, size}, 0, 200), dtype), y = flip(x, {1}), both = flip(x, {0, 1});
      const std::vector<double> values = values_of(x), got = values_of(y), turned = values_of(both);
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t columns = static_cast<size_t>(size), row = i / columns, column = i % columns;
        CHECK(got[i] == values[row * columns + columns - 1 - column]);
        CHECK(turned[i] == values[values.size() - 1 - i]);
      }
    }
  }
}

TEST_CASE("rearranging refuses what does not fit") {
  const Tensor x = empty({2, 3});
  CHECK(fails_with("flip: dimension 1 is repeated", [&] { flip(x, {1, -1}); }));
  CHECK(fails_with("flip: dim must be", [&] { flip(x, {2}); }));
  CHECK(fails_with("roll: needs a shift for each dimension", [&] { roll(x, {1, 2}, {0}); }));
  CHECK(fails_with("roll: needs a shift", [&] { roll(x, {}); }));
  CHECK(fails_with("repeat: needs a size for each dimension of [2, 3], got [2]", [&] { repeat(x, {2}); }));
  CHECK(fails_with("repeat: cannot repeat 3 elements -1 times", [&] { repeat(x, {1, -1}); }));
  CHECK(fails_with("repeat: cannot repeat", [&] { repeat(x, {1, largest}); }));
  CHECK(fails_with("elements", [&] { repeat(x, {largest / 2, 1}); }));
  CHECK(fails_with("repeat_interleave: cannot repeat", [&] { repeat_interleave(x, smallest); }));
  CHECK(fails_with("tril: needs at least 2 dimensions, got [3]", [] { tril(empty({3})); }));
  CHECK(fails_with("diagonal: needs two dimensions", [&] { diagonal(x, 0, 1, -1); }));
  CHECK(fails_with("movedim: dim must be", [&] { movedim(x, 2, 0); }));
}

TEST_CASE("padding refuses what does not fit") {
  const Tensor x = empty({2, 3});
  CHECK(fails_with("pad: needs two numbers for each of at most 2", [&] { pad(x, {1}); }));
  CHECK(fails_with("pad: needs two numbers for each of at most 2", [&] { pad(x, {1, 1, 1, 1, 1, 1}); }));
  CHECK(fails_with("pad: cannot cut -2 and -2 elements from dimension 1", [&] { pad(x, {-2, -2}); }));
  CHECK(fails_with("pad: cannot cut", [&] { pad(x, {smallest, 0}); }));
  CHECK(fails_with("more than 2^63 - 1 elements", [&] { pad(x, {largest, 0}); }));
  CHECK(fails_with("more than 2^63 - 1 elements", [&] { pad(x, {largest / 2, 0}); }));
  CHECK(fails_with("pad: a dimension of 3 elements has too few to mirror 3", [&] {
    pad(x, {3, 0}, PadMode::reflect);
  }));
  CHECK(fails_with("too few to repeat for 4", [&] { pad(x, {0, 4}, PadMode::circular); }));
  CHECK(fails_with("too few to repeat for 1", [] { pad(empty({0}), {1, 0}, PadMode::replicate); }));
  CHECK(pad(x, {-1, -2}).shape() == Shape{2, 0});
  CHECK(equal(pad(empty({0}), {1, 1}), zeros({2})));
}
