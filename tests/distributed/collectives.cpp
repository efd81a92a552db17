#include <tern/autograd/convert.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/distributed/run_ranks.h>

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace tern;
using namespace tern::distributed;
using namespace tern::tests;

namespace {

constexpr DType all_dtypes[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max,
                                ReduceOp::product};

bool is_served(DType dtype, ReduceOp op) {
  if (op == ReduceOp::avg) return is_floating_point(dtype);
  return op != ReduceOp::sum || dtype != boolean;
}

// Rank r's element i: small, and another for each rank and place.
double value(int rank, int64_t i, DType dtype) {
  if (dtype == boolean) return (i >> (rank % 3)) & 1;
  return static_cast<double>((i * 7 + rank * 5) % 11 + (rank == 0 ? 1 : 0)) /
         (is_floating_point(dtype) ? 4 : 1);
}

double reduced(int ranks, int64_t i, DType dtype, ReduceOp op) {
  double result = value(0, i, dtype);
  for (int r = 1; r < ranks; ++r) {
    const double next = value(r, i, dtype);
    if (op == ReduceOp::sum || op == ReduceOp::avg) result += next;
    if (op == ReduceOp::min) result = std::min(result, next);
    if (op == ReduceOp::max) result = std::max(result, next);
    if (op == ReduceOp::product) result *= next;
  }
  return op == ReduceOp::avg ? result / ranks : result;
}

// A tensor of `dtype` with element i = f(i), strided or not.
Tensor filled(const Shape& shape, DType dtype, bool strided, const std::function<double(int64_t)>& f) {
  const Tensor values = to(generate<double>(shape, f), dtype);
  if (!strided || shape.dim() == 0) return values;
  Shape wide = shape;
  wide[wide.dim() - 1] = 2 * wide.back() + 1;
  const Tensor x = slice(full(wide, 1, dtype), -1, 1, wide.back(), 2);
  copy_(x, values);
  return x;
}

// What rounding to `dtype` leaves of f; products of many may round several times in float32.
void check_values(const Tensor& x, const std::function<double(int64_t)>& f) {
  const Tensor expected = to(generate<double>(x.shape(), f), x.dtype());
  const bool is_equal = x.dtype() == float32 ? allclose(x, expected, 1e-6, 0) : equal(x, expected);
  CHECK(is_equal);
}

const Shape shapes[] = {{}, {1}, {0, 3}, {5, 3}, {40'001}};

}  // namespace

TEST_CASE("reductions of every dtype and operation, from any layout") {
  for_each_transport([](const ProcessGroupOptions& options) {
    for (const int n : {1, 2, 3, 4, 7}) {
      CAPTURE(n);
      run_ranks(
          n,
          [&](const Group& group) {
            for (const DType dtype : all_dtypes) {
              for (const ReduceOp op : all_ops) {
                if (!is_served(dtype, op)) continue;
                for (const Shape& shape : shapes) {
                  for (const bool strided : {false, true}) {
                    const auto own = [&](int64_t i) { return value(group->rank(), i, dtype); };
                    const auto all = [&](int64_t i) {
                      const double exact = reduced(n, i, dtype, op);
                      return dtype == uint8
                                 ? static_cast<double>(static_cast<uint8_t>(static_cast<int64_t>(exact)))
                                 : exact;
                    };
                    Tensor x = filled(shape, dtype, strided, own);
                    all_reduce(x, {.op = op, .group = group});
                    check_values(x, all);
                    x = filled(shape, dtype, strided, own);
                    reduce(x, n - 1, {.op = op, .group = group});
                    check_values(x, group->rank() == n - 1 ? std::function<double(int64_t)>(all) : own);
                  }
                }
              }
            }
          },
          options);
    }
  });
}
