// Convolution at its edges: sizes near 2^63, NaN behind a fused ReLU, and gradients that others got wrong.
#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
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

TEST_CASE("fused ReLU and pool give the single steps' gradients where values are NaN") {
  for (const int64_t channels : {1, 3, 40}) {
    std::vector<double> pixels = values_of(scattered({1, channels, 6, 6}));
    pixels[7] = NAN;
    const std::vector<Tensor> values{tensor_of(pixels, {1, channels, 6, 6}, float32),
                                     scattered({40, channels, 1, 1}, -2, 2, float32),
                                     scattered({40}, -2, 2, float32)};
    const auto agree = [&](const Convolution& fused, const Convolution& single) {
      const std::vector<Tensor> got = gradients(fused, values), want = gradients(single, values);
      return distance(got[0], want[0]) < 1e-5 && distance(got[2], want[2]) < 1e-5;
    };
    CHECK(agree([](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d_relu(x, w, b); },
                [](const Tensor& x, const Tensor& w, const Tensor& b) { return relu(conv2d(x, w, b)); }));
    CHECK(agree(
        [](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d_relu_max_pool2d(x, w, b); },
        [](const Tensor& x, const Tensor& w, const Tensor& b) {
          return max_pool2d(relu(conv2d(x, w, b)), 2);
        }));
  }
}

TEST_CASE("depthwise, strided convolutions: the weight's gradient for every number of channels") {
  for (const int64_t groups : {1, 4, 8, 23, 24, 25}) {
    const Tensor x = ones({1, groups, 6, 6}), weight = ones({groups, 1, 3, 3}).requires_grad_();
    const Tensor y = conv2d(x, weight, {}, {.stride = 2, .padding = 1, .groups = groups});
    const std::vector<double> channel{4, 6, 6, 6, 9, 9, 6, 9, 9};
    const Tensor dweight = grad(sum(y), {weight})[0];
    for (int64_t g = 0; g < groups; ++g) CHECK(values_of(select(dweight, 0, g)) == channel);
  }
  const Tensor x = reshape(arange(0.0, 64.0), {1, 4, 4, 4}).requires_grad_();
  const Tensor weight = reshape(arange(0.0, 36.0), {4, 1, 3, 3}).requires_grad_();
  const auto got = grad(sum(conv2d(x, weight, {}, {.stride = 2, .padding = 1, .groups = 4})), {x, weight});
  CHECK(values_of(select(select(got[0], 0, 0), 0, 0)) ==
        std::vector<double>{4, 8, 4, 5, 8, 16, 8, 10, 4, 8, 4, 5, 7, 14, 7, 8});
  CHECK(values_of(select(got[1], 0, 0)) == std::vector<double>{5, 10, 12, 10, 20, 24, 18, 36, 40});
}

TEST_CASE("a stride that does not divide: nothing flows past the last window") {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = ones({1, 9, 32, 32}, dtype).requires_grad_(), weight = ones({3, 9, 5, 5}, dtype);
    const Tensor dx = grad(sum(conv2d(x, weight, {}, {.stride = 3, .padding = 1})), {x})[0];
    const auto windows = [](int64_t i) { return i == 31 ? 0 : i == 0 || i >= 28 || i % 3 == 1 ? 1 : 2; };
    std::vector<double> want;
    for (int64_t i = 0; i < 9 * 32 * 32; ++i) want.push_back(3 * windows(i / 32 % 32) * windows(i % 32));
    int64_t inside = 0;
    const std::vector<double> got = values_of(dx);
    for (size_t i = 0; i < want.size(); ++i) inside += got[i] == want[i];
    CHECK(inside == 9 * 32 * 32);
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
  CHECK(fails_with("nothing is left of input", transposed({.padding = 2})));
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

TEST_CASE("transposed convolution of half types rounds once, its bias included") {
  // 3 + 3 / 1024 is no float16, but what is left after the bias is.
  const Tensor x = full({1, 1, 1, 1}, 1 + 1.0 / 1024, float16), weight = full({1, 1, 1, 1}, 3.0, float16);
  const Tensor y = conv_transpose2d(x, weight, full({1}, -3.0, float16));
  CHECK(values_of(y) == std::vector<double>{3.0 / 1024});
}
