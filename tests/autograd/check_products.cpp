#include <tern/autograd/functional.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("matrix products") {
  std::vector<Shapes> samples{{{3, 4}, {4, 5}},       {{7}, {7}},
                              {{3, 4}, {4}},          {{4}, {4, 3}},
                              {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4, 5}},
                              {{3, 4}, {2, 4, 5}},    {{2, 3, 4}, {4}},
                              {{4}, {2, 4, 5}},       {{2, 1, 3, 4}, {5, 4, 2}},
                              {{1, 1}, {1, 1}},       {{0, 4}, {4, 3}},
                              {{3, 0}, {0, 2}},       {{3, 4}, {4, 0}},
                              {{0, 3, 4}, {0, 4, 5}}, {{0}, {0}},
                              {{65, 129}, {129, 70}}, {{4, 40, 33}, {4, 33, 50}}};
  for (const int64_t n : {1, 7, 8, 9, 15, 16, 17}) {
    samples.push_back({{n, 5}, {5, 3}});
    samples.push_back({{3, n}, {n, 2}});
    samples.push_back({{2, 5}, {5, n}});
  }
  check_op(
      "matmul", [](const Inputs& x) { return matmul(x[0], x[1]); }, samples);
}

TEST_CASE("the fully connected layer") {
  const auto with_bias = [](const Inputs& x) { return linear(x[0], x[1], x[2]); };
  check_op("linear", with_bias,
           {{{5}, {6, 5}, {6}},
            {{4, 5}, {6, 5}, {6}},
            {{2, 3, 5}, {6, 5}, {6}},
            {{0, 5}, {6, 5}, {6}},
            {{1, 1}, {1, 1}, {1}},
            {{9, 17}, {33, 17}, {33}},
            {{2, 3, 1, 5}, {2, 5}, {2}},
            {{4, 5}, {0, 5}, {0}},
            {{4, 0}, {3, 0}, {3}},
            {{70, 131}, {66, 131}, {66}}});
  check_op("linear", [](const Inputs& x) { return linear(x[0], x[1]); },
           {{{5}, {6, 5}}, {{4, 5}, {6, 5}}, {{2, 3, 5}, {6, 5}}, {{0, 5}, {6, 5}}, {{8, 16}, {15, 16}}});
}

TEST_CASE("the fully connected layer on images") {
  const OpOptions images{.error_names = {"linear"}};
  check_op(
      "flatten_linear", [](const Inputs& x) { return flatten_linear(x[0], x[1], x[2]); },
      {{{2, 3, 4, 5}, {7, 60}, {7}},
       {{1, 1, 1, 1}, {1, 1}, {1}},
       {{3, 4, 1, 1}, {2, 4}, {2}},
       {{0, 2, 2, 2}, {3, 8}, {3}},
       {{3, 17, 2, 3}, {9, 102}, {9}}},
      images);
  check_op(
      "flatten_linear", [](const Inputs& x) { return flatten_linear(x[0], x[1]); },
      {{{2, 3, 2, 2}, {4, 12}}, {{9, 8, 3, 3}, {5, 72}}}, images);
}
