#include <tern/autograd/functional.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("images in another size") {
  const std::vector<Shapes> samples{
      {{2, 3, 4, 5}}, {{1, 1, 1, 1}}, {{1, 17, 3, 2}}, {{0, 2, 3, 3}}, {{1, 8, 20, 31}}};
  for (const InterpolateOptions& size :
       {InterpolateOptions{.size = Size2(6, 3)}, InterpolateOptions{.size = 1},
        InterpolateOptions{.scale_factor = 2}, InterpolateOptions{.scale_factor = Scale2(1, 1.6)}}) {
    for (const bool corners : {false, true}) {
      InterpolateOptions options = size;
      options.mode = InterpolateMode::bilinear, options.align_corners = corners;
      check_op(
          "interpolate", [=](const Inputs& x) { return interpolate(x[0], options); }, samples);
    }
    check_op(
        "interpolate", [=](const Inputs& x) { return interpolate(x[0], size); }, samples);
  }
}
