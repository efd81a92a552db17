// The expected texts are PyTorch's, with the dtype always shown, `shape=[2, 0]` for `size=(2, 0)`, and zeros
// and non-finite values aligned.
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;

TEST_CASE("floats print with four digits, or as integers with a point") {
  CHECK(printed(make<float>({2, 2}, {1, 2, 3, 4.5})) ==
        "tensor([[1.0000, 2.0000],\n"
        "        [3.0000, 4.5000]], dtype=float32)");
  CHECK(printed(make<float>({3}, {1, 2, 300})) == "tensor([  1.,   2., 300.], dtype=float32)");
  CHECK(printed(make<float>({3}, {-1.5, 0, 2.25})) == "tensor([-1.5000,  0.0000,  2.2500], dtype=float32)");
  CHECK(printed(make<float>({2}, {0.f, -0.f})) == "tensor([ 0., -0.], dtype=float32)");
  CHECK(printed(make<double>({1}, {1. / 3})) == "tensor([0.3333], dtype=float64)");
}

TEST_CASE("floats of very different sizes print with exponents") {
  CHECK(printed(make<float>({2}, {1, 20000.5})) == "tensor([1.0000e+00, 2.0000e+04], dtype=float32)");
  CHECK(printed(make<float>({2}, {1e9, 1})) == "tensor([1.0000e+09, 1.0000e+00], dtype=float32)");
  CHECK(printed(make<float>({2}, {1e-5f, 1.5})) == "tensor([1.0000e-05, 1.5000e+00], dtype=float32)");
  CHECK(printed(make<float>({2}, {1, 2000})) == "tensor([1.0000e+00, 2.0000e+03], dtype=float32)");
  CHECK(printed(make<double>({2}, {1e-300, 0})) == "tensor([1.0000e-300,  0.0000e+00], dtype=float64)");
}

TEST_CASE("NaN and infinities print by name, NaN without a sign") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(printed(make<float>({5}, {NAN, -NAN, 1, -infinity, infinity})) ==
        "tensor([ nan,  nan,   1., -inf,  inf], dtype=float32)");
  CHECK(printed(make<float>({1}, {NAN})) == "tensor([nan], dtype=float32)");
}

TEST_CASE("16-bit floats print as the floats they stand for") {
  CHECK(printed(make<Half>({2}, {Half(1.5f), Half(65504.f)})) ==
        "tensor([1.5000e+00, 6.5504e+04], dtype=float16)");
  CHECK(printed(make<BFloat16>({2}, {BFloat16(1.f), BFloat16(-2.f)})) ==
        "tensor([ 1., -2.], dtype=bfloat16)");
}

TEST_CASE("integers and truth values print aligned to the right") {
  CHECK(printed(make<int64_t>({2, 2}, {1, -20, 300, 4})) ==
        "tensor([[  1, -20],\n"
        "        [300,   4]], dtype=int64)");
  CHECK(printed(make<int64_t>({2}, {INT64_MIN, INT64_MAX})) ==
        "tensor([-9223372036854775808,  9223372036854775807], dtype=int64)");
  CHECK(printed(make<uint8_t>({2}, {1, 255})) == "tensor([  1, 255], dtype=uint8)");
  CHECK(printed(make<int32_t>({1}, {-7})) == "tensor([-7], dtype=int32)");
  CHECK(printed(generate<bool>({2}, [](int64_t i) { return i == 0; })) ==
        "tensor([ True, False], dtype=bool)");
}

TEST_CASE("a tensor without dimensions, an empty and an undefined one print in one line") {
  CHECK(printed(make<float>({}, {3.14159f})) == "tensor(3.1416, dtype=float32)");
  CHECK(printed(make<int64_t>({}, {5})) == "tensor(5, dtype=int64)");
  CHECK(printed(empty({0})) == "tensor([], dtype=float32)");
  CHECK(printed(empty({2, 0}, int64)) == "tensor([], shape=[2, 0], dtype=int64)");
  CHECK(printed(Tensor()) == "tensor(undefined)");
}

TEST_CASE("long rows break at 80 columns") {
  CHECK(printed(counted<float>({30}, 0.5)) ==
        "tensor([ 0.0000,  0.5000,  1.0000,  1.5000,  2.0000,  2.5000,  3.0000,  3.5000,\n"
        "         4.0000,  4.5000,  5.0000,  5.5000,  6.0000,  6.5000,  7.0000,  7.5000,\n"
        "         8.0000,  8.5000,  9.0000,  9.5000, 10.0000, 10.5000, 11.0000, 11.5000,\n"
        "        12.0000, 12.5000, 13.0000, 13.5000, 14.0000, 14.5000], dtype=float32)");
}

TEST_CASE("outer dimensions are separated by empty lines") {
  CHECK(printed(counted<float>({2, 2, 2})) ==
        "tensor([[[0., 1.],\n"
        "         [2., 3.]],\n"
        "\n"
        "        [[4., 5.],\n"
        "         [6., 7.]]], dtype=float32)");
}

TEST_CASE("more than 1000 elements are cut to three items at each edge") {
  CHECK(printed(counted<float>({1001})) ==
        "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.], dtype=float32)");
  CHECK(printed(counted<int64_t>({300, 4})) ==
        "tensor([[   0,    1,    2,    3],\n"
        "        [   4,    5,    6,    7],\n"
        "        [   8,    9,   10,   11],\n"
        "        ...,\n"
        "        [1188, 1189, 1190, 1191],\n"
        "        [1192, 1193, 1194, 1195],\n"
        "        [1196, 1197, 1198, 1199]], dtype=int64)");
  CHECK(printed(counted<int64_t>({4, 300})) ==
        "tensor([[   0,    1,    2,  ...,  297,  298,  299],\n"
        "        [ 300,  301,  302,  ...,  597,  598,  599],\n"
        "        [ 600,  601,  602,  ...,  897,  898,  899],\n"
        "        [ 900,  901,  902,  ..., 1197, 1198, 1199]], dtype=int64)");
  CHECK(contains(printed(counted<float>({1000})), "500."));
  // Values that are left out do not decide the format; a huge expanded view prints at once.
  CHECK(printed(generate<float>({1001}, [](int64_t i) { return i == 500 ? 0.5f : 1.f; })) ==
        "tensor([1., 1., 1.,  ..., 1., 1., 1.], dtype=float32)");
  CHECK(printed(make<float>({1}, {7}).with_layout(Layout({1}, {1}).expand({int64_t{1} << 50}))) ==
        "tensor([7., 7., 7.,  ..., 7., 7., 7.], dtype=float32)");
}

TEST_CASE("views print in the order of their indices") {
  const Tensor x = counted<int64_t>({2, 3});
  CHECK(printed(x.with_layout(x.layout().transpose(0, 1))) ==
        "tensor([[0, 3],\n"
        "        [1, 4],\n"
        "        [2, 5]], dtype=int64)");
  CHECK(printed(x.with_layout(x.layout().slice(1, 1, 3, 1))) ==
        "tensor([[1, 2],\n"
        "        [4, 5]], dtype=int64)");
  CHECK(printed(x.with_layout(x.layout().select(1, 2).unsqueeze(1).expand({2, 2}))) ==
        "tensor([[2, 2],\n"
        "        [5, 5]], dtype=int64)");
}

TEST_CASE("a tensor that wants a gradient says so, on a new line where the last is full") {
  const Tensor x = make<float>({2}, {1, 1}).requires_grad_();
  CHECK(printed(x) == "tensor([1., 1.], dtype=float32, requires_grad=True)");
  const Tensor row = generate<float>({12}, [](int64_t) { return 1.f; }).requires_grad_();
  CHECK(printed(row) ==
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.], dtype=float32,\n"
        "       requires_grad=True)");
}
