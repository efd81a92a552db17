// Counts beyond what half types hold, and places beyond 2^31.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/index.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t many = 70000;  // more than float16's largest number
constexpr int64_t boundary = int64_t{1} << 31;

// operation(x) is `value` and each element of its gradient `slope`, to a half type's digits.
void check_values(const Tensor& start, double value, double slope,
                  const std::function<Tensor(const Tensor&)>& operation) {
  const Tensor x = clone(start).requires_grad_(), y = operation(x);
  const Tensor dx = to(grad(y, {x})[0], float64);
  const double digits = start.dtype() == bfloat16 ? 1e-2 : 1e-3;
  CHECK(allclose(to(y.detach(), float64), full({}, value, float64), digits, 1e-9));
  CHECK(allclose(dx, full_like(dx, slope), digits, 3e-8));  // float16 has no finer numbers
}

}  // namespace

TEST_CASE("more elements than a half type can count: extremes, means, norms") {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor x = ones({many}, dtype);
    const double share = 1.0 / many, root = std::sqrt(many);
    check_values(x, 1, share, [](const Tensor& t) { return amax(t); });
    check_values(x, 1, share, [](const Tensor& t) { return amin(t); });
    check_values(x, 1, share, [](const Tensor& t) { return norm(t, INFINITY); });
    check_values(x, 1, share, [](const Tensor& t) { return mean(t); });
    check_values(x, root, 1 / root, [](const Tensor& t) { return norm(t); });
    check_values(x, 1 + std::log(many), share, [](const Tensor& t) { return logsumexp(t, {0}); });
    check_values(x, 0, 0, [](const Tensor& t) { return var(t); });
    check_values(x, 1, 0, [&](const Tensor& t) { return cosine_similarity(t, x, 0); });
    CHECK(values_of(softmax(x, 0))[7] == doctest::Approx(share).epsilon(1e-2));
    CHECK(values_of(normalize(x, 2, 0))[7] == doctest::Approx(1 / root).epsilon(1e-2));
  }
}

TEST_CASE("more elements than a half type can count: losses") {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor x = ones({many}, dtype), zero = zeros({many}, dtype);
    const double share = 1.0 / many;
    check_values(x, 1, 2 * share, [&](const Tensor& t) { return mse_loss(t, zero); });
    check_values(x, 1, share, [&](const Tensor& t) { return l1_loss(t, zero); });
    check_values(zero, std::log(2.0), share / 2,
                 [&](const Tensor& t) { return binary_cross_entropy_with_logits(t, zero); });
    const Tensor labels = zeros({many}, int64);
    check_values(zero, std::log(2.0), -share / 2, [&](const Tensor& t) {
      return cross_entropy(stack({t, zero}, 1), labels);
    });
    check_values(x, -1, -share, [&](const Tensor& t) { return nll_loss(unsqueeze(t, 1), labels); });
  }
}

TEST_CASE("more elements than a half type can count: normalisation") {
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor signs = cat({ones({many / 2}, dtype), -ones({many / 2}, dtype)});
    const Tensor column = unsqueeze(signs, 1), row = unsqueeze(signs, 0);
    CHECK(distance(batch_norm(column, {}, {}, {}, {}, {.training = true}), column) < 1e-2);
    CHECK(distance(layer_norm(row, {many}), row) < 1e-2);
    CHECK(distance(group_norm(unsqueeze(row, 0), 1), unsqueeze(row, 0)) < 1e-2);
    CHECK(distance(rms_norm(row, {many}), row) < 1e-2);
  }
}

TEST_CASE("places beyond 2^31 are read where they are") {
  const Tensor x = sparse_zeros({boundary / 1024 + 2, 1024}, float16);
  const Tensor last = select(x, 0, -1), before = select(x, 0, boundary / 1024 - 1);
  fill_(last, 2), fill_(before, 1);
  const Tensor rows = tensor({boundary / 1024 + 1, boundary / 1024, boundary / 1024 - 1});
  const std::vector<double> want{2, 0, 1};
  CHECK(values_of(select(index_select(x, 0, rows), 1, 1023)) == want);
  CHECK(values_of(select(embedding(rows, x), 1, 5)) == want);
  CHECK(values_of(gather(x, 0, unsqueeze(rows, 1))) == want);
  CHECK(values_of(index(x, {rows, 17})) == want);
  const Tensor flat = view(x, {-1});
  CHECK(values_of(gather(flat, 0, rows * 1024 + 3)) == want);
  CHECK(values_of(index_select(flat, 0, rows * 1024)) == want);
  CHECK(values_of(narrow(flat, 0, boundary + 1022, 3)) == std::vector<double>{0, 0, 2});
  CHECK(values_of(slice(flat, 0, 1023, boundary + 2048, boundary + 1024)) == std::vector<double>{0, 2});
  CHECK(values_of(select(flip(narrow(x, 0, boundary / 1024 - 1, 3), {0}), 1, 1)) == want);
  CHECK(values_of(sum(narrow(x, 0, boundary / 1024 - 1, 3), 1)) == std::vector<double>{1024, 0, 2048});
  CHECK(select(flat, 0, -1).item<float>() == 2);
  CHECK(values_of(diagonal(x, -boundary / 1024 - 1)) == std::vector<double>{2});
}

TEST_CASE("places beyond 2^31 are written where they are") {
  const Tensor x = sparse_zeros({2, boundary + 3}, uint8), end = narrow(x, 1, boundary - 1, 4);
  copy_(end, tensor({{1, 2, 3, 4}, {5, 6, 7, 8}}));
  end += 1;
  end *= 2;
  kernels::index_add(select(x, 0, 1), 0, tensor({boundary + 2, boundary}), full({2}, 100, uint8));
  CHECK(values_of(end) == std::vector<double>{4, 6, 8, 10, 12, 114, 16, 118});
  CHECK(values_of(index(x, {1, tensor({boundary + 2, boundary, int64_t{0}})})) ==
        std::vector<double>{118, 114, 0});
  fill_(select(x, 1, boundary + 2), 9);
  CHECK(values_of(index(x, {Slice(), Slice(boundary + 1)})) == std::vector<double>{8, 9, 16, 9});
}
