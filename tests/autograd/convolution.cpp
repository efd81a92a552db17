// Convolution at its edges: sizes near 2^63 and beyond 2^31, NaN behind a fused ReLU, transposed ones.
#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/conv.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

constexpr int64_t huge = int64_t{1} << 62, largest = std::numeric_limits<int64_t>::max();

using Convolution = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;

// The gradients of input, weight and bias, for an upstream of ones.
std::vector<Tensor> gradients(const Convolution& convolution, const std::vector<Tensor>& values) {
  std::vector<Tensor> leaves;
  for (const Tensor& value : values) leaves.push_back(value.detach().requires_grad_());
  return grad(sum(convolution(leaves[0], leaves[1], leaves[2])), leaves);
}

// Convolutions in one pass, and the same step by step.
struct Fusion {
  Convolution fused, single;
};
const Fusion fusions[] = {
    {[](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d_relu(x, w, b); },
     [](const Tensor& x, const Tensor& w, const Tensor& b) { return relu(conv2d(x, w, b)); }},
    {[](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d_relu_max_pool2d(x, w, b); },
     [](const Tensor& x, const Tensor& w, const Tensor& b) { return max_pool2d(relu(conv2d(x, w, b)), 2); }},
};

}  // namespace

TEST_CASE("convolution: strides, paddings and dilations near 2^63 are an error or right") {
  for (const DType dtype : {float32, float64}) {
    const Tensor image = ones({1, 1, 4, 4}, dtype), kernel = ones({1, 1, 3, 3}, dtype);
    for (const int64_t much : {int64_t{1} << 31, int64_t{1} << 32, huge, largest}) {
      CHECK(fails_with("conv2d: ", [&] { conv2d(image, kernel, {}, {.stride = much}); }));
      CHECK(fails_with("conv2d: ", [&] { conv2d(image, kernel, {}, {.padding = much}); }));
      CHECK(fails_with("conv2d: ", [&] { conv2d(image, kernel, {}, {.dilation = much}); }));
    }
    // The strips of the direct kernels would have 2^64 places.
    const Conv2dOptions far{.stride = (1 << 30) + 2, .padding = 1 << 30};
    const Tensor y = conv2d(image, kernel, {}, far);
    CHECK(y.shape() == Shape{1, 1, 2, 2});
    CHECK(values_of(y) == std::vector<double>{0, 0, 0, 4});
    CHECK(values_of(conv2d_relu_max_pool2d(image, kernel, {}, far)) == std::vector<double>{4});
  }
}

TEST_CASE("images beyond 2^31 elements are left to the loops that count in 64 bits") {
  const Tensor pixel = ones({1, 1, 1, 1}), weight = ones({1, 1, 3, 3});
  CHECK(kernels::fuses_max_pool(expand(pixel, {1, 1, 1000, 1000}), weight, {.padding = 1}));
  for (const Shape& shape :
       {Shape{1, 1, 46341, 46341}, Shape{1, 1, 3, int64_t{1} << 31}, Shape{1, 1, int64_t{1} << 40, 1000}})
    CHECK_FALSE(kernels::fuses_max_pool(expand(pixel, shape), weight, {.padding = 1}));
  CHECK_FALSE(kernels::fuses_max_pool(expand(pixel, {1, 1, 1000, 1000}), expand(pixel, {4000, 1, 3, 3}),
                                      {.padding = 1}));
}

TEST_CASE("fused ReLU and pool give the single steps' gradients at zeros and between equals, to the bit") {
  // Halves: sums are exact, many are 0, and many windows have several maxima.
  const auto halves = [](const Shape& shape, DType dtype) {
    return round(scattered(shape, -2, 2, dtype)) / 2;
  };
  for (const DType dtype : {float32, float64}) {
    for (const int64_t channels : {1, 3, 40}) {
      const std::vector<Tensor> values{halves({2, channels, 8, 10}, dtype),
                                       halves({33, channels, 3, 3}, dtype), halves({33}, dtype)};
      for (const auto& [fused, single] : fusions) {
        const std::vector<Tensor> got = gradients(fused, values), want = gradients(single, values);
        for (size_t i = 0; i < 3; ++i) CHECK(equal(got[i], want[i]));
      }
    }
  }
}

TEST_CASE("fused ReLU and pool give the single steps' gradients where values are NaN") {
  for (const int64_t channels : {1, 3, 40}) {
    std::vector<double> pixels = values_of(scattered({1, channels, 6, 6}));
    pixels[7] = NAN;
    const std::vector<Tensor> values{tensor_of(pixels, {1, channels, 6, 6}, float32),
                                     scattered({40, channels, 1, 1}, -2, 2, float32),
                                     scattered({40}, -2, 2, float32)};
    for (const auto& [fused, single] : fusions) {
      const std::vector<Tensor> got = gradients(fused, values), want = gradients(single, values);
      CHECK(distance(got[0], want[0]) < 1e-5);
      CHECK(distance(got[2], want[2]) < 1e-5);
    }
  }
}

TEST_CASE("transposed convolution refuses what does not fit") {
  const Tensor x = ones({1, 2, 3, 3}), weight = ones({2, 1, 2, 2});
  const auto transposed = [&](const ConvTranspose2dOptions& options) {
    return [&, options] { conv_transpose2d(x, weight, {}, options); };
  };
  for (const int64_t much : {int64_t{-1}, int64_t{1} << 31, huge, largest}) {
    CHECK(fails_with("conv_transpose2d: ", transposed({.stride = much})));
    CHECK(fails_with("conv_transpose2d: ", transposed({.padding = much})));
    CHECK(fails_with("conv_transpose2d: ", transposed({.dilation = much})));
    CHECK(fails_with("conv_transpose2d: ", transposed({.output_padding = much})));
    CHECK(fails_with("conv_transpose2d: ", transposed({.groups = much})));
  }
  CHECK(fails_with("output_padding must be from 0 to below stride", transposed({.output_padding = 1})));
  CHECK(fails_with("less than nothing is left of input", transposed({.padding = 3})));
  CHECK(fails_with("conv_transpose2d: input [1, 2, 3, 3] does not fit weight", [&] {
    conv_transpose2d(x, ones({3, 1, 2, 2}));
  }));
  CHECK(fails_with("conv_transpose2d: bias must be [1]", [&] { conv_transpose2d(x, weight, ones({2})); }));
  CHECK(fails_with("conv_transpose2d: input [1, 2, 0, 3] has empty images", [&] {
    conv_transpose2d(ones({1, 2, 0, 3}), weight);
  }));
  CHECK(fails_with("conv_transpose2d: input and weight must be floating-point", [&] {
    conv_transpose2d(full({1, 2, 3, 3}, 1, int64), weight);
  }));
  CHECK(fails_with("conv1d: needs an input [N, C, L]", [&] { conv1d(x, weight); }));
}

TEST_CASE("transposed convolution whose padding takes all away is empty, its gradients zero, as in PyTorch") {
  const ConvTranspose2dOptions options{
      .stride = {2, 3}, .padding = {2, 3}, .output_padding = {0, 1}, .groups = 2};
  const auto emptied = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const Tensor y = conv_transpose2d(x, weight, bias, options);
    CHECK(y.shape() == Shape{2, 6, 0, 0});
    return y;
  };
  for (const DType dtype : {float32, float64, bfloat16}) {
    const std::vector<Tensor> inputs{ones({2, 4, 2, 2}, dtype), ones({4, 3, 2, 2}, dtype), ones({6}, dtype)};
    const std::vector<Tensor> found = gradients(emptied, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) CHECK(equal(found[i], zeros_like(inputs[i])));
  }
}

TEST_CASE("transposed convolution of half types rounds once, its bias included") {
  // 3 + 3 / 1024 is no float16, but what is left after the bias is.
  const Tensor x = full({1, 1, 1, 1}, 1 + 1.0 / 1024, float16), weight = full({1, 1, 1, 1}, 3.0, float16);
  const Tensor y = conv_transpose2d(x, weight, full({1}, -3.0, float16));
  CHECK(values_of(y) == std::vector<double>{3.0 / 1024});
}
