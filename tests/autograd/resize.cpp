// Images in another size: edges, infinities and what is refused.
#include <tern/autograd/backward.h>
#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tern;
using namespace tern::tests;

namespace {

Tensor line_image(const std::vector<double>& values, DType dtype = float64) {
  return tensor_of(values, {1, 1, 1, static_cast<int64_t>(values.size())}, dtype);
}

}  // namespace

TEST_CASE("the nearest pixel is exact where a size is given, for every pair of sizes") {
  for (const int64_t from : {1, 3, 7, 49, 64}) {
    for (int64_t to = 1; to < 120; ++to) {
      std::vector<double> values;
      for (int64_t i = 0; i < from; ++i) values.push_back(static_cast<double>(i));
      const std::vector<double> got = values_of(interpolate(line_image(values), {.size = Size2(1, to)}));
      for (int64_t i = 0; i < to; ++i)
        REQUIRE(got[static_cast<size_t>(i)] == static_cast<double>(i * from / to));
    }
  }
}

TEST_CASE("a pixel of weight 0 does not take part, were it infinite") {
  const InterpolateOptions corners{
      .size = Size2(1, 3), .mode = InterpolateMode::bilinear, .align_corners = true};
  CHECK(bits_equal(interpolate(line_image({1, INFINITY, 2, 0, 3}), corners), line_image({1, 2, 3})));
  CHECK(bits_equal(interpolate(line_image({NAN, 1}), {.scale_factor = 2}),
                   tensor_of({NAN, NAN, 1, 1, NAN, NAN, 1, 1}, {1, 1, 2, 4})));
}

TEST_CASE("each of any number of channels is resized like one alone") {
  for (const DType dtype : {float64, float32}) {
    for (int64_t channels = 1; channels < 160; channels += channels < 36 ? 1 : 17) {
      const Tensor x = to(scattered({2, channels, 3, 2}, -1, 1), dtype).requires_grad_();
      for (const InterpolateMode mode : {InterpolateMode::nearest, InterpolateMode::bilinear}) {
        const InterpolateOptions options{.size = Size2(5, 7), .mode = mode};
        const Tensor y = interpolate(x, options), dx = grad(y, {x}, {.gradient = y.detach()})[0];
        for (const int64_t c : {int64_t{0}, channels / 2, channels - 1}) {
          const Tensor one = narrow(x, 1, c, 1).detach().requires_grad_(), alone = interpolate(one, options);
          CHECK(bits_equal(narrow(y, 1, c, 1), alone));
          CHECK(bits_equal(narrow(dx, 1, c, 1), grad(alone, {one}, {.gradient = alone.detach()})[0]));
        }
      }
    }
  }
}

TEST_CASE("the nearest pixel keeps a zero's sign, and a pixel that none is nearest to gets 0") {
  const Tensor x = line_image({-0.0, 0.0, -1}).requires_grad_();
  CHECK(bits_equal(interpolate(x, {.size = Size2(1, 6)}), line_image({-0.0, -0.0, 0, 0, -1, -1})));
  CHECK(bits_equal(grad(interpolate(x, {.size = Size2(1, 1)}), {x}, {.gradient = line_image({2})})[0],
                   line_image({2, 0, 0})));
}

TEST_CASE("the gradient of a small picture made large adds up in float32") {
  const Tensor x = line_image({1}, float16).requires_grad_();
  backward(sum(interpolate(x, {.size = Size2(1, 4097)})));
  CHECK(x.grad().item<double>() == 4096);
}

TEST_CASE("the result is channels-last, whatever comes in") {
  for (const Lay lay : {Lay::contiguous, Lay::channels_last}) {
    const Tensor y = interpolate(laid_out(scattered({2, 3, 4, 5}), lay), {.scale_factor = 2});
    CHECK(y.is_channels_last());
    CHECK(y.shape() == Shape{2, 3, 8, 10});
  }
}

TEST_CASE("interpolate refuses what does not fit") {
  const Tensor x = scattered({1, 2, 4, 5});
  const auto refuses = [&](const std::string& text, const InterpolateOptions& options) {
    return fails_with("interpolate: " + text, [&] { interpolate(x, options); });
  };
  CHECK(refuses("needs either size or scale_factor, got neither", {}));
  CHECK(refuses("needs either size or scale_factor, got both", {.size = 2, .scale_factor = 2}));
  CHECK(refuses("size must be above 0", {.size = Size2(0, 3)}));
  CHECK(refuses("size must be above 0", {.size = -1}));
  CHECK(refuses("scale_factor 0.1 makes 4 pixels 0", {.scale_factor = Scale2(0.1, 1)}));
  CHECK(refuses("scale_factor -1", {.scale_factor = -1}));
  CHECK(refuses("scale_factor nan", {.scale_factor = static_cast<double>(NAN)}));
  CHECK(refuses("scale_factor inf", {.scale_factor = static_cast<double>(INFINITY)}));
  CHECK(refuses("align_corners is for the bilinear mode", {.size = 2, .align_corners = true}));
  CHECK(fails_with("elements", [&] { interpolate(x, {.size = std::numeric_limits<int64_t>::max()}); }));
  CHECK(fails_with("interpolate: input must be [N, C, H, W], got [3, 4, 5]", [] {
    interpolate(scattered({3, 4, 5}), {.size = 2});
  }));
  CHECK(fails_with("interpolate: the input's height and width must be above 0", [] {
    interpolate(empty({1, 1, 0, 3}), {.size = 2});
  }));
  CHECK(fails_with("interpolate: needs a floating-point tensor, got int64", [] {
    interpolate(empty({1, 1, 2, 3}, int64), {.size = 2});
  }));
}
