#include <tern/autograd/functional.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

void check_einsum(const char* equation, const std::vector<Shapes>& samples) {
  const std::string quoted = std::string("einsum(\"") + equation + "\")";
  check_op("einsum", [=](const Inputs& x) { return einsum(equation, x); }, samples,
           {.error_names = {quoted.c_str(), "matmul", "mul"}});
}

}  // namespace

TEST_CASE("products of vectors and of batches") {
  check_op("dot", [](const Inputs& x) { return dot(x[0], x[1]); },
           {{{1}, {1}}, {{0}, {0}}, {{7}, {7}}, {{300}, {300}}}, {.error_names = {"matmul"}});
  check_op("outer", [](const Inputs& x) { return outer(x[0], x[1]); },
           {{{3}, {4}}, {{1}, {1}}, {{0}, {3}}, {{40}, {50}}}, {.error_names = {"mul"}});
  check_op(
      "bmm", [](const Inputs& x) { return bmm(x[0], x[1]); },
      {{{2, 3, 4}, {2, 4, 5}}, {{0, 3, 4}, {0, 4, 5}}, {{2, 3, 0}, {2, 0, 2}}, {{3, 33, 17}, {3, 17, 9}}},
      {.error_names = {"matmul"}});
}

TEST_CASE("sums of products in Einstein's convention") {
  check_einsum(
      "ij,jk->ik",
      {{{2, 3}, {3, 4}}, {{1, 3}, {3, 1}}, {{0, 3}, {3, 2}}, {{3, 0}, {0, 2}}, {{40, 30}, {30, 20}}});
  check_einsum("bhqd,bhkd->bhqk", {{{2, 2, 3, 4}, {2, 2, 5, 4}}, {{1, 2, 3, 1}, {2, 1, 3, 1}}});
  check_einsum("bn,anm,bm->ba", {{{2, 3}, {5, 3, 4}, {2, 4}}});
  check_einsum("i,i->i", {{{5}, {5}}, {{1}, {5}}});
  check_einsum("i,j", {{{3}, {4}}});
  check_einsum("...ij,...jk", {{{2, 1, 3, 4}, {5, 4, 2}}, {{3, 4}, {4, 2}}});
  check_einsum("ii", {{{4, 4}}, {{1, 1}}});
  check_einsum("iji->j", {{{3, 2, 3}}});
  check_einsum("...i->i", {{{2, 3, 4}}, {{5}}});
  check_einsum("abcd->dbca", {{{2, 3, 4, 5}}});
}
