#include <tern/autograd/functional.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

const std::vector<Shapes> images{{{2, 3, 6, 4}}, {{1, 2, 7, 5}}, {{1, 67, 5, 6}}, {{3, 6, 6}},
                                 {{0, 2, 5, 4}}, {{1, 1, 5, 5}}, {{2, 8, 24, 24}}};
const std::vector<Shapes> lines{{{2, 3, 8}}, {{3, 7}}, {{1, 1, 5}}, {{0, 2, 4}}, {{2, 17, 30}}};

}  // namespace

TEST_CASE("average pooling") {
  for (const AvgPool2dOptions& options :
       {AvgPool2dOptions{}, AvgPool2dOptions{.stride = 1},
        AvgPool2dOptions{.stride = Size2(1, 2), .padding = 1},
        AvgPool2dOptions{.padding = 1, .ceil_mode = true, .count_include_pad = false},
        AvgPool2dOptions{.stride = 3, .ceil_mode = true, .divisor_override = 3}}) {
    check_op(
        "avg_pool2d",
        [=](const Inputs& x) {
          return avg_pool2d(x[0], {3, 2}, options);
        },
        images);
  }
}

TEST_CASE("adaptive pooling") {
  for (const OutputSize2& size :
       {OutputSize2(1), OutputSize2(3, 2), OutputSize2(std::nullopt, 9), OutputSize2(0)}) {
    check_op(
        "adaptive_avg_pool2d", [=](const Inputs& x) { return adaptive_avg_pool2d(x[0], size); }, images);
    check_op("adaptive_max_pool2d", [=](const Inputs& x) { return adaptive_max_pool2d(x[0], size); }, images,
             {.jumps = true});
  }
}

TEST_CASE("max pooling with indices") {
  const auto values = [](const Inputs& x) {
    return max_pool2d_with_indices(x[0], {3, 2}, {.stride = 2, .padding = 1, .ceil_mode = true}).values;
  };
  check_op("max_pool2d", values, images, {.jumps = true});
}

TEST_CASE("pooling of lines") {
  check_op("avg_pool1d",
           [](const Inputs& x) {
             return avg_pool1d(x[0], 3,
                               {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false});
           },
           lines, {.error_names = {"avg_pool2d"}});
  check_op("max_pool1d",
           [](const Inputs& x) { return max_pool1d(x[0], 2, {.stride = 1, .padding = 1, .dilation = 2}); },
           lines, {.jumps = true, .error_names = {"max_pool2d"}});
}
