#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("other shapes of the same elements") {
  const std::vector<Shapes> samples{{{4, 6}}, {{2, 3, 4}}, {{2, 3, 2, 2}}, {{1, 12}}, {{24, 800}}};
  check_op("view", [](const Inputs& x) { return view(x[0], {-1, 4}); }, samples, {.contiguous_only = true});
  check_op(
      "reshape",
      [](const Inputs& x) {
        return reshape(x[0], {4, -1});
      },
      samples);
  check_op(
      "reshape", [](const Inputs& x) { return reshape(x[0], {-1}); }, one_input());
  check_op("flatten", [](const Inputs& x) { return flatten(x[0]); }, samples, {.error_names = {"reshape"}});
  check_op("flatten", [](const Inputs& x) { return flatten(x[0], 1); }, {{{2, 3, 4, 5}}, {{0, 3, 2, 2}}});
  check_op("flatten", [](const Inputs& x) { return flatten(x[0], 1, 2); }, {{{2, 3, 4, 5}}, {{1, 1, 1, 1}}});
  check_op(
      "unsqueeze", [](const Inputs& x) { return unsqueeze(x[0], 0); }, one_input());
  check_op(
      "unsqueeze", [](const Inputs& x) { return unsqueeze(x[0], -1); }, one_input());
  check_op(
      "squeeze", [](const Inputs& x) { return squeeze(x[0], 0); }, one_input());
  check_op(
      "squeeze", [](const Inputs& x) { return squeeze(x[0], -1); }, one_input());
}

TEST_CASE("other orders of dimensions") {
  const std::vector<Shapes> samples{{{4, 6}}, {{2, 3, 4}}, {{2, 3, 4, 5}}, {{0, 3}}, {{1, 9}}, {{130, 131}}};
  check_op(
      "transpose", [](const Inputs& x) { return transpose(x[0], 0, -1); }, samples);
  check_op(
      "transpose", [](const Inputs& x) { return transpose(x[0], 0, 1); }, samples);
  check_op("t", [](const Inputs& x) { return t(x[0]); }, {{{4, 6}}, {{5}}, {{}}, {{0, 2}}});
  check_op("permute", [](const Inputs& x) { return permute(x[0], {2, 0, 1}); }, {{{2, 3, 4}}, {{7, 50, 60}}});
  check_op("permute",
           [](const Inputs& x) {
             return permute(x[0], {0, 2, -1, 1});
           },
           {{{2, 3, 4, 5}}, {{1, 3, 1, 1}}});
}

TEST_CASE("repetition and parts") {
  check_op("expand",
           [](const Inputs& x) {
             return expand(x[0], {4, 3, 5});
           },
           {{{5}}, {{3, 1}}, {{1, 3, 5}}, {{1, 1, 1}}, {{4, 3, 5}}, {{}}});
  check_op("expand", [](const Inputs& x) { return expand(x[0], {140, -1}); }, {{{140}}, {{1, 140}}});
  const std::vector<Shapes> samples{{{4}}, {{5, 3}}, {{4, 3, 2}}, {{4, 3, 2, 2}}, {{140, 131}}};
  check_op(
      "select", [](const Inputs& x) { return select(x[0], 0, 1); }, samples);
  check_op(
      "select", [](const Inputs& x) { return select(x[0], -1, -1); }, samples);
  check_op(
      "slice", [](const Inputs& x) { return slice(x[0], 0, 1, 100); }, samples);
  check_op(
      "slice", [](const Inputs& x) { return slice(x[0], 0, 0, -1, 2); }, samples);
  check_op(
      "slice", [](const Inputs& x) { return slice(x[0], -1, 1, 1); }, samples);
  check_op(
      "narrow", [](const Inputs& x) { return narrow(x[0], 0, 1, 2); }, samples);
  check_op("index",
           [](const Inputs& x) {
             return index(x[0], {Slice(1), -1});
           },
           {{{5, 3}}, {{4, 3, 2}}, {{4, 3, 2, 2}}});
  const Tensor rows = tensor({3, 0, 0, 2, 0});
  check_op("index",
           [=](const Inputs& x) {
             return index(x[0], {rows, Slice(0, 2)});
           },
           {{{5, 3}}, {{4, 3, 2}}}, {.error_names = {"index_select"}});
  check_op(
      "index_select", [=](const Inputs& x) { return index_select(x[0], 0, rows); }, samples);
  check_op("index_select",
           [=](const Inputs& x) {
             return index_select(x[0], -1, tensor({1, 1, 0}));
           },
           {{{4, 3, 2}}, {{2, 3, 4, 5}}, {{0, 2}}, {{100, 130}}});
  check_op(
      "index_select", [=](const Inputs& x) { return index_select(x[0], 0, empty({0}, int64)); }, samples);
}

TEST_CASE("tensors joined") {
  const std::vector<Shapes> rows{
      {{2, 3}, {1, 3}},      {{2, 3}, {0, 3}}, {{4}, {7}}, {{17}, {33}}, {{2, 3, 2, 2}, {1, 3, 2, 2}},
      {{70, 131}, {60, 131}}};
  check_op(
      "cat",
      [](const Inputs& x) {
        return cat({x[0], x[1]});
      },
      rows);
  check_op(
      "cat",
      [](const Inputs& x) {
        return cat({x[0], x[1], x[0]});
      },
      rows);
  check_op("cat",
           [](const Inputs& x) {
             return cat({x[0], x[1]}, -1);
           },
           {{{2, 3}, {2, 1}}, {{2, 3, 2, 2}, {2, 3, 2, 1}}, {{130, 70}, {130, 60}}});
  check_op("cat",
           [](const Inputs& x) {
             return cat({x[0], x[1]}, 1);
           },
           {{{2, 3, 2, 2}, {2, 5, 2, 2}}, {{1, 8, 3, 3}, {1, 1, 3, 3}}});
  check_op("cat", [](const Inputs& x) { return cat({x[0]}); }, {{{5}}, {{0}}, {{3, 4}}});
}

TEST_CASE("copies") {
  check_op(
      "clone", [](const Inputs& x) { return clone(x[0]); }, one_input());
  check_op(
      "contiguous", [](const Inputs& x) { return contiguous(x[0]); }, one_input());
  check_op("contiguous", [](const Inputs& x) { return contiguous(x[0], MemoryFormat::channels_last); },
           {{{2, 3, 4, 5}}, {{1, 1, 3, 3}}, {{0, 3, 2, 2}}, {{2, 17, 30, 30}}});
}
