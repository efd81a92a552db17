#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/distributed/functional.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

TEST_CASE("gradients pass through all_reduce") {
  run_ranks(3, [](const Group& group) {
    const int rank = group->rank();
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
      const double share = op == ReduceOp::avg ? 3 : 1;
      const Tensor x = full({2, 2}, rank + 1).requires_grad_();
      const Tensor y = functional::all_reduce(x, op, group);
      CHECK(equal(y, full({2, 2}, 6 / share)));
      CHECK(equal(x, full({2, 2}, rank + 1)));
      backward(sum(mul(y, rank + 1)));  // the losses' sum is 6 times the sum of y
      CHECK(equal(x.grad(), full({2, 2}, 6 / share)));
    }
    const Tensor plain = functional::all_reduce(ones({1}), ReduceOp::sum, group);
    CHECK(!plain.requires_grad());
    CHECK(contains(error_of([&] { functional::all_reduce(ones({1}), ReduceOp::max, group); }),
                   "only sum and avg are differentiable, got max"));
    CHECK(contains(error_of([&] { functional::all_gather(Tensor(), group); }), "undefined"));
  });
}

TEST_CASE("gradients pass through all_gather") {
  run_ranks(3, [](const Group& group) {
    const int rank = group->rank();
    const Tensor x = full({2}, rank + 1).requires_grad_();
    const Tensor y = functional::all_gather(x, group);
    CHECK(equal(y, tensor({{1., 1.}, {2., 2.}, {3., 3.}})));
    // Rank s weighs row r with 10 s + r: the gradient of x_r is the sum over s.
    const Tensor weights = add(tensor({{0., 0.}, {1., 1.}, {2., 2.}}), 10 * rank);
    backward(sum(mul(y, weights)));
    CHECK(equal(x.grad(), full({2}, 30 + 3 * rank)));
  });
}
