#include <tern/core/dtype.h>
#include <tern/core/scalar.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {
constexpr DType all[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};
}

TEST_CASE("two dtypes meet as in PyTorch") {
  // torch.promote_types(row, column)
  constexpr DType expected[8][8] = {
      {float32, float64, float32, float32, float32, float32, float32, float32},
      {float64, float64, float64, float64, float64, float64, float64, float64},
      {float32, float64, float16, float32, float16, float16, float16, float16},
      {float32, float64, float32, bfloat16, bfloat16, bfloat16, bfloat16, bfloat16},
      {float32, float64, float16, bfloat16, int64, int64, int64, int64},
      {float32, float64, float16, bfloat16, int64, int32, int32, int32},
      {float32, float64, float16, bfloat16, int64, int32, uint8, uint8},
      {float32, float64, float16, bfloat16, int64, int32, uint8, boolean},
  };
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      CAPTURE(name(all[i]));
      CAPTURE(name(all[j]));
      CHECK(promote(all[i], all[j]) == expected[i][j]);
    }
  }
}

TEST_CASE("dtypes know their name, size and kind") {
  const std::string_view names[] = {"float32", "float64", "float16", "bfloat16",
                                    "int64",   "int32",   "uint8",   "bool"};
  const size_t sizes[] = {4, 8, 2, 2, 8, 4, 1, 1};
  for (size_t i = 0; i < 8; ++i) {
    CHECK(name(all[i]) == names[i]);
    CHECK(printed(all[i]) == names[i]);
    CHECK(size_of(all[i]) == sizes[i]);
    CHECK(is_floating_point(all[i]) == (i < 4));
    CHECK(is_reduced_floating_point(all[i]) == (i == 2 || i == 3));
    CHECK(dispatch(all[i], []<class T>() { return dtype_of<T>(); }) == all[i]);
  }
}

TEST_CASE("operations on floating-point numbers refuse other dtypes by name") {
  CHECK(dispatch_floating(bfloat16, "exp", []<class T>() { return sizeof(T); }) == 2);
  for (const DType dtype : {int64, int32, uint8, boolean}) {
    const auto call = [&] { dispatch_floating(dtype, "exp", []<class T>() {}); };
    CHECK(contains(error_of(call), "exp: needs a floating-point tensor, got " + printed(dtype)));
  }
}

TEST_CASE("a scalar remembers what it was made from") {
  CHECK(Scalar(2.5).is_floating_point());
  CHECK(Scalar(2.5f).to_double() == 2.5);
  CHECK(!Scalar(3).is_floating_point());
  CHECK(Scalar(true).is_boolean());
  CHECK(Scalar(INT64_MAX).to<int64_t>() == INT64_MAX);
  CHECK(Scalar(3).to<double>() == 3);
  CHECK(Scalar(-1.75).to_int64() == -1);
  CHECK(float(Scalar(0.5).to<Half>()) == 0.5f);
}
