// Products of matrices and einsum: integers, half types, and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("a matrix that meets many batches adds up its half-precision gradient in float32") {
  const Tensor a = full({4097, 1, 1}, 1, float16);
  for (const Shape& shape : {Shape{1, 1}, Shape{1, 1, 1}}) {
    const Tensor b = full(shape, 1, float16).requires_grad_();
    backward(sum(matmul(a, b)));
    CHECK(b.grad().shape() == shape);
    CHECK(b.grad().item<double>() == 4096);
  }
}

TEST_CASE("vectors refuse what does not fit") {
  const Tensor two = empty({2}), three = empty({3}), square = empty({2, 2});
  CHECK(fails_with("dot: needs two vectors of one size, got [2] and [3]", [&] { dot(two, three); }));
  CHECK(fails_with("dot: needs two vectors", [&] { dot(square, square); }));
  CHECK(fails_with("outer: needs two vectors, got [2, 2] and [2]", [&] { outer(square, two); }));
  CHECK(
      fails_with("bmm: needs [B, N, M] and [B, M, P], got [2, 2] and [2, 2]", [&] { bmm(square, square); }));
  CHECK(fails_with("bmm: needs", [] { bmm(empty({1, 2, 3}), empty({4, 3, 2})); }));
  CHECK(fails_with("matmul: operands need at least one dimension", [&] { matmul(tensor(1.0), two); }));
  CHECK(equal(dot(tensor({1, 2}), tensor({3, 4})), tensor(11)));
  CHECK(equal(outer(tensor({1, 2}), tensor({3, 4})), tensor({{3, 4}, {6, 8}})));
}

TEST_CASE("einsum serves integers in their own dtype") {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  CHECK(equal(einsum("ij,jk->ik", {x, x}), tensor({{7, 10}, {15, 22}})));
  CHECK(equal(einsum("ij->", {x}), tensor(10)));
  CHECK(equal(einsum("ij,ij->j", {x, x}), tensor({10, 20})));
  const Tensor narrow = from_vector<int32_t>({1, 2, 3, 4}, {2, 2});
  CHECK(einsum("ij,j->i", {narrow, from_vector<int32_t>({1, 1})}).dtype() == int32);
}

TEST_CASE("einsum of half types rounds once") {
  const Tensor x = full({2, 3000}, 1, float16), y = full({3000, 2}, 0.5, float16),
               z = full({2}, 0.001, float16);
  const Tensor got = einsum("ij,jk,k->i", {x, y, z});
  CHECK(got.dtype() == float16);
  CHECK(got.data<Half>()[0] == Half(3000 * static_cast<float>(Half(0.001F))));
}

TEST_CASE("einsum gives a view of what it only reorders") {
  const Tensor x = scattered({2, 3});
  CHECK(einsum("ij->ji", {x}).storage() == x.storage());
  CHECK(einsum("ij->ji", {x}).shape() == Shape{3, 2});
}

TEST_CASE("errors of einsum quote the equation") {
  const Tensor x = scattered({2, 3}), y = scattered({3, 4});
  const auto refuses = [](const std::string& equation, const std::string& text,
                          const std::vector<Tensor>& operands) {
    return fails_with("einsum(\"" + equation + "\"): " + text, [&] { einsum(equation, operands); });
  };
  CHECK(refuses("ij,jk", "describes 2 operands, got 1", {x}));
  CHECK(refuses("ij", "describes 1 operands, got 2", {x, y}));
  CHECK(refuses("ij", "needs an operand", {}));
  CHECK(refuses("ijk->i", "\"ijk\" does not name the dimensions of [2, 3]", {x}));
  CHECK(refuses("...ijk", "\"...ijk\" does not name the dimensions of [2, 3]", {x}));
  CHECK(refuses("ij,ij->", "a dimension is 2 and 3 elements long", {x, y}));
  CHECK(refuses("...,...", "a dimension is", {x, y}));
  CHECK(refuses("ii", "a dimension is 2 and 3", {x}));
  CHECK(refuses("ii", "'i' names two sizes", {scattered({1, 3})}));
  CHECK(refuses("ij->k", "the result's 'k' is in no operand", {x}));
  CHECK(refuses("ij->ii", "'i' occurs twice in the result", {x}));
  CHECK(refuses("ij->i->j", "letters are a to z and A to Z, got '-'", {x}));
  CHECK(refuses("i0", "letters are", {x}));
  CHECK(refuses("i..", "\"i..\" does not name", {x}));
  CHECK(refuses("......", "\"...\" occurs twice", {scattered({2, 2, 2})}));
  CHECK(refuses("ij,jk", "operands must be numbers of one dtype", {x, tern::to(y, float32)}));
  CHECK(refuses("ij", "operands must be numbers", {x > 0}));
  const Tensor wide = scattered({1, 2, 1, 2, 1});
  CHECK(einsum("abcde,fghij->abcde", {wide, wide}).shape() == wide.shape());
  const Tensor full = scattered({2, 2, 2, 2, 2});
  CHECK(refuses("abcde,fghij->abcdefghij", "a", {full, full}));
}
