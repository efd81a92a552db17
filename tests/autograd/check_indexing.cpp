#include <tern/autograd/indexing.h>
#include <tern/autograd/ordering.h>
#include <tern/autograd/reductions.h>
#include <tern/tests/support/check_op.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Positions below `size`, some of them repeated.
Tensor positions(const Shape& shape, int64_t size) {
  const Tensor index = empty(shape, int64);
  for (int64_t i = 0; i < index.numel(); ++i) index.data<int64_t>()[i] = i * 5 % 7 % size;
  return index;
}

// As many positions as `shape` says, in dimension `dim` of x.
Tensor positions_in(const Tensor& x, int64_t dim, const Shape& shape) {
  return positions(shape, x.dim() ? x.size(dim) : 1);
}

// Every third element, and the first.
Tensor mask_of(const Shape& shape) {
  const Tensor mask = empty(shape, boolean);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data<bool>()[i] = i % 3 == 0;
  return mask;
}

}  // namespace

TEST_CASE("elements by position") {
  const std::vector<Shapes> samples{{{}},        {{7}},          {{3, 5}}, {{2, 3, 4}}, {{2, 3, 2, 2}},
                                    {{130, 20}}, {{20, 130, 3}}, {{1, 9}}, {{9, 1}}};
  for (const int64_t dim : {0, -1}) {
    check_op(
        "gather", [=](const Inputs& x) { return gather(x[0], dim, positions_in(x[0], dim, x[0].shape())); },
        samples);
    const auto with_number = [=](const Inputs& x) {
      return scatter(x[0], dim, positions_in(x[0], dim, x[0].shape()), 3);
    };
    check_op("scatter", with_number, samples);
  }
  check_op("gather",
           [](const Inputs& x) {
             return gather(x[0], 1, positions({2, 9}, 4));
           },
           {{{3, 4}}, {{2, 7}}});
  check_op("gather",
           [](const Inputs& x) {
             return gather(x[0], 0, positions({0, 3}, 4));
           },
           {{{4, 3}}, {{0, 3}}});
}

TEST_CASE("elements written and added by position, repeated ones too") {
  const std::vector<Shapes> samples{
      {{}, {}},           {{5}, {9}},       {{3, 4}, {3, 4}},      {{2, 3, 4}, {2, 3, 4}},
      {{20, 5}, {20, 5}}, {{4, 3}, {0, 3}}, {{200, 30}, {200, 30}}};
  for (const int64_t dim : {0, -1}) {
    const auto index = [=](const Inputs& x) { return positions_in(x[0], dim, x[1].shape()); };
    check_op(
        "scatter", [=](const Inputs& x) { return scatter(x[0], dim, index(x), x[1]); }, samples);
    check_op(
        "scatter_add", [=](const Inputs& x) { return scatter_add(x[0], dim, index(x), x[1]); }, samples);
  }
  const Tensor corner = positions({2, 3}, 4);  // src may be larger than the index
  check_op("scatter", [=](const Inputs& x) { return scatter(x[0], 0, corner, x[1]); }, {{{4, 3}, {3, 5}}});
  check_op("scatter_add", [=](const Inputs& x) { return scatter_add(x[0], 0, corner, x[1]); },
           {{{4, 3}, {3, 5}}});
}

TEST_CASE("slices added by position") {
  const Tensor rows = positions({9}, 4);
  check_op("index_add", [=](const Inputs& x) { return index_add(x[0], 0, rows, x[1]); },
           {{{4}, {9}}, {{4, 3}, {9, 3}}, {{5, 2, 3}, {9, 2, 3}}, {{4, 0}, {9, 0}}, {{4, 300}, {9, 300}}});
  check_op("index_add", [=](const Inputs& x) { return index_add(x[0], -1, rows, x[1]); },
           {{{3, 4}, {3, 9}}, {{2, 3, 5}, {2, 3, 9}}, {{300, 4}, {300, 9}}});
  check_op("embedding",
           [](const Inputs& x) {
             return embedding(positions({2, 3, 2}, x[0].size(0)), x[0]);
           },
           {{{5, 3}}, {{1, 1}}, {{7, 200}}}, {.error_names = {"index_add"}});
  const auto padded = [](const Inputs& x) {
    return embedding(positions({9}, x[0].size(0) - 1), x[0], {.padding_idx = -1});
  };
  check_op("embedding", padded, {{{5, 3}}, {{2, 17}}});
  check_op("embedding", [](const Inputs& x) { return embedding(empty({0}, int64), x[0]); },
           {{{5, 3}}, {{0, 2}}});
}

TEST_CASE("elements by a mask") {
  check_op(
      "masked_select", [](const Inputs& x) { return masked_select(x[0], mask_of(x[0].shape())); },
      one_input());
  check_op("masked_select",
           [](const Inputs& x) {
             return masked_select(x[0], mask_of({4, 5}));
           },
           {{{5}}, {{4, 1}}, {{2, 1, 5}}, {{}}});
}

TEST_CASE("order along a dimension") {
  const std::vector<Shapes> samples{{{}},     {{9}},    {{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 9}},
                                    {{9, 1}}, {{0, 4}}, {{4, 0}}, {{700, 3}},  {{3, 700}}};
  for (const int64_t dim : {0, -1}) {
    for (const bool down : {false, true}) {
      check_op("sort", [=](const Inputs& x) { return sort(x[0], dim, down).values; }, samples,
               {.jumps = true});
      check_op("topk", [=](const Inputs& x) { return topk(x[0], 1, dim, down).values; },
               {{{}}, {{9}}, {{3, 5}}, {{2, 3, 4}}, {{3, 700}}}, {.jumps = true});
      check_op("topk", [=](const Inputs& x) { return topk(x[0], 3, dim, down).values; },
               {{{9}}, {{3, 5, 4}}, {{40, 3}}, {{600, 5}}}, {.jumps = true});
    }
  }
}

TEST_CASE("running sums and products") {
  const std::vector<Shapes> samples{{{}},     {{9}},    {{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 9}},
                                    {{9, 1}}, {{0, 4}}, {{4, 0}}, {{70, 300}}, {{300, 70}}};
  for (const int64_t dim : {0, -1})
    check_op(
        "cumsum", [=](const Inputs& x) { return cumsum(x[0], dim); }, samples);
  const OpOptions near_one{.low = 0.5, .high = 1.5};
  check_op(
      "prod", [](const Inputs& x) { return prod(x[0]); }, {{{}}, {{0}}, {{9}}, {{3, 5}}, {{2, 3, 2, 2}}},
      near_one);
  for (const int64_t dim : {0, -1}) {
    check_op(
        "prod", [=](const Inputs& x) { return prod(x[0], dim); },
        {{{}}, {{9}}, {{3, 5}}, {{2, 3, 4}}, {{0, 4}}, {{4, 0}}, {{130, 131}}}, near_one);
  }
  check_op(
      "prod",
      [](const Inputs& x) {
        return prod(x[0], {2, 0}, true);
      },
      {{{2, 3, 4}}, {{2, 3, 1, 2}}}, near_one);
}
