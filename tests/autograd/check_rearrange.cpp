#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/views.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("tensors side by side and apart") {
  const std::vector<Shapes> pairs{
      {{2, 3}, {2, 3}}, {{}, {}}, {{0}, {0}}, {{17}, {17}}, {{2, 3, 2, 2}, {2, 3, 2, 2}}};
  for (const int64_t dim : {0, -1}) {
    check_op("stack",
             [=](const Inputs& x) {
               return stack({x[0], x[1], x[0]}, dim);
             },
             pairs, {.error_names = {"cat"}});
  }
  const std::vector<Shapes> samples{{{4}}, {{5, 3}}, {{4, 3, 2}}, {{4, 3, 2, 2}}, {{140, 31}}};
  check_op(
      "split", [](const Inputs& x) { return split(x[0], 3).back(); }, samples);
  check_op(
      "split",
      [](const Inputs& x) {
        return split(x[0], {1, x[0].size(0) - 1})[1];
      },
      samples);
  check_op(
      "chunk", [](const Inputs& x) { return chunk(x[0], 2, -1)[0]; }, samples);
  check_op(
      "unbind", [](const Inputs& x) { return unbind(x[0])[2]; }, samples);
  check_op("diagonal", [](const Inputs& x) { return diagonal(x[0], 1, 0, -1); },
           {{{4, 4}}, {{4, 3}}, {{2, 3, 4}}, {{1, 1}}, {{0, 3}}, {{40, 50}}});
}

TEST_CASE("elements in other places") {
  check_op(
      "flip", [](const Inputs& x) { return flip(x[0], {0}); }, one_input());
  check_op("flip",
           [](const Inputs& x) {
             return flip(x[0], {-1, 0});
           },
           {{{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 9}}, {{0, 4}}, {{130, 131}}});
  check_op(
      "roll", [](const Inputs& x) { return roll(x[0], {2}, {0}); }, one_input());
  check_op(
      "roll", [](const Inputs& x) { return roll(x[0], {-3}); }, one_input());
  check_op("roll",
           [](const Inputs& x) {
             return roll(x[0], {1, -2, 5}, {0, -1, 0});
           },
           {{{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{0, 4}}, {{130, 131}}});
  check_op("tril", [](const Inputs& x) { return tril(x[0]); },
           {{{3, 5}}, {{5, 3}}, {{2, 3, 4, 5}}, {{0, 4}}, {{4, 0}}, {{130, 131}}});
  check_op("triu", [](const Inputs& x) { return triu(x[0], -1); },
           {{{3, 5}}, {{5, 3}}, {{2, 3, 4, 5}}, {{0, 4}}, {{1, 1}}, {{130, 131}}});
}

TEST_CASE("elements repeated") {
  check_op("repeat",
           [](const Inputs& x) {
             return repeat(x[0], {2, 1, 3});
           },
           {{{}}, {{4}}, {{3, 5}}, {{2, 1, 4}}, {{0, 3}}, {{31, 40}}});
  check_op(
      "repeat", [](const Inputs& x) { return repeat(x[0], Shape::filled(static_cast<int>(x[0].dim()), 1)); },
      one_input());
  check_op("repeat_interleave", [](const Inputs& x) { return repeat_interleave(x[0], 3, 0); },
           {{{4}}, {{3, 5}}, {{2, 3, 4, 5}}, {{0, 3}}, {{31, 40}}});
  check_op(
      "repeat_interleave", [](const Inputs& x) { return repeat_interleave(x[0], 2); }, one_input());
}

TEST_CASE("padding") {
  const std::vector<Shapes> samples{{{3, 4}},    {{2, 3, 4}}, {{2, 3, 4, 5}},
                                    {{1, 3, 3}}, {{0, 3, 4}}, {{60, 70}}};
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    check_op(
        "pad",
        [=](const Inputs& x) {
          return pad(x[0], {1, 2, 2, 0}, mode);
        },
        samples);
    check_op(
        "pad",
        [=](const Inputs& x) {
          return pad(x[0], {-1, 1, 0, -1}, mode);
        },
        samples);
    check_op("pad",
             [=](const Inputs& x) {
               return pad(x[0], {1, -2, -2, 1}, mode);
             },
             {{{3, 4}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{0, 3, 4}}, {{60, 70}}});
    check_op("pad",
             [=](const Inputs& x) {
               return pad(x[0], {2, 1}, mode);
             },
             {{{3}}, {{17}}, {{2, 3}}, {{2, 3, 4, 5}}});
  }
  check_op("pad",
           [](const Inputs& x) {
             return pad(x[0], {1, 0, 0, 2, 3, 1}, PadMode::constant, 1.5);
           },
           {{{2, 3, 4}}, {{2, 3, 4, 5}}, {{1, 2, 3, 4, 5}}});
}
