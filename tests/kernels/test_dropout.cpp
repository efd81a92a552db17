#include <tern/kernels/dropout.h>
#include <tern/tests/kernels/reference.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("dropout keeps an element or not by its row-major index alone, and scales what it keeps") {
  for (const Shape& shape :
       std::vector<Shape>{{}, {0}, {1}, {5}, {1023}, {1025}, {40000}, {2, 3, 4, 5}, {33, 65}}) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      const Tensor x = empty(shape, dtype);
      kernels::fill(x, 3);
      std::vector<double> expected;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const uint32_t word =
            Philox::block(7, 0, 5 + static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)];
        expected.push_back(word < 0x40000000u ? 12 : 0);
      }
      for (const Tensor& layout : layouts_of(x)) {
        const Tensor y = kernels::dropout(layout, 0.75, {7, 5});
        CHECK(values(y) == expected);
        CHECK(y.layout().is_dense());
        CHECK(y.dtype() == dtype);
      }
    }
  }
}

TEST_CASE("dropout keeps the asked share, the same for the same state, another for another") {
  const Tensor x = empty({100000});
  kernels::fill(x, 1);
  const Tensor y = kernels::dropout(x, 0.3, {1, 0});
  double kept = 0;
  for (const double value : values(y)) {
    CHECK((value == 0 || value == doctest::Approx(1 / 0.7)));
    kept += value != 0;
  }
  CHECK(std::abs(kept / 1e5 - 0.7) < 5 * std::sqrt(0.21 / 1e5));
  CHECK(same_bits(y, kernels::dropout(x, 0.3, {1, 0})));
  CHECK_FALSE(same_bits(y, kernels::dropout(x, 0.3, {1, 25000})));
  CHECK_FALSE(same_bits(y, kernels::dropout(x, 0.3, {2, 0})));
}

TEST_CASE("p = 0 is the identity, p = 1 gives zeros without NaN, and what is dropped is 0 whatever it was") {
  const Tensor x = make<float>({4}, {1, NAN, INFINITY, -2});
  CHECK(same_bits(kernels::dropout(x, 0, {1, 0}), x));
  CHECK(values(kernels::dropout(x, 1, {1, 0})) == std::vector<double>{0, 0, 0, 0});
  const Tensor bad = empty({1000});
  kernels::fill(bad, NAN);
  double zeros = 0;
  for (const double value : values(kernels::dropout(bad, 0.5, {1, 0}))) zeros += value == 0;
  CHECK(zeros > 400);
}

TEST_CASE("dropout keeps the order of dimensions and has the same bits for any number of threads") {
  const Tensor x = kernels::contiguous(random_tensor({20, 30, 40, 5}), MemoryFormat::channels_last);
  CHECK(kernels::dropout(x, 0.5, {1, 0}).is_channels_last());
  CHECK(same_for_all_threads([&] { return kernels::dropout(x, 0.5, {1, 0}); }));
}

TEST_CASE("dropout refuses integers and shares outside [0, 1]") {
  CHECK(contains(error_of([] { kernels::dropout(empty({2}), 1.5, {}); }),
                 "dropout: p must be from 0 to 1, got 1.5"));
  CHECK(contains(error_of([] { kernels::dropout(empty({2}), NAN, {}); }), "dropout: p must be from 0 to 1"));
  CHECK(contains(error_of([] { kernels::dropout(random_tensor({2}, int64), 0.5, {}); }), "floating-point"));
}
