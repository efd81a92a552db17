#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/tests/support/check_op.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

// Input, weight, bias: channels around the widths of vectors and tiles, pictures around those of strips.
const std::vector<Shapes> plain{{{2, 3, 6, 5}, {8, 3, 3, 3}, {8}},     {{1, 4, 7, 7}, {5, 4, 3, 3}, {5}},
                                {{1, 16, 4, 5}, {17, 16, 3, 3}, {17}}, {{1, 1, 3, 3}, {1, 1, 3, 3}, {1}},
                                {{2, 5, 4, 4}, {7, 5, 1, 1}, {7}},     {{1, 2, 6, 6}, {3, 2, 5, 5}, {3}},
                                {{1, 3, 3, 19}, {33, 3, 3, 3}, {33}},  {{1, 9, 5, 3}, {16, 9, 3, 3}, {16}},
                                {{3, 4, 3, 3}, {5, 4, 3, 3}, {5}},     {{0, 3, 5, 5}, {4, 3, 3, 3}, {4}},
                                {{4, 6, 5, 4}, {31, 6, 2, 3}, {31}}};
const std::vector<Shapes> grouped{{{2, 4, 6, 6}, {6, 2, 3, 3}, {6}}, {{1, 6, 5, 5}, {8, 3, 3, 3}, {8}}};

Operation convolution(const Conv2dOptions& options) {
  return [options](const Inputs& x) { return conv2d(x[0], x[1], x[2], options); };
}

}  // namespace

TEST_CASE("convolutions") {
  check_op("conv2d", convolution({.padding = 1}), plain);
  check_op("conv2d", convolution({.stride = 2, .padding = 1}), plain);
  check_op("conv2d", convolution({.stride = {1, 3}, .padding = {2, 0}}), plain);
  check_op("conv2d", convolution({.padding = 2, .dilation = {2, 1}}), plain);
  check_op("conv2d", convolution({.padding = 1, .groups = 2}), grouped);
  check_op("conv2d", convolution({.stride = 2, .padding = 1, .groups = 6}),
           {{{1, 6, 5, 5}, {12, 1, 3, 3}, {12}}});
  check_op("conv2d", [](const Inputs& x) { return conv2d(x[0], x[1]); },
           {{{2, 3, 6, 5}, {8, 3, 3, 3}}, {{3, 5, 5}, {4, 3, 3, 3}}, {{1, 8, 3, 4}, {9, 8, 1, 1}}});
}

TEST_CASE("convolutions of lines") {
  const std::vector<Shapes> samples{
      {{2, 3, 9}, {4, 3, 3}, {4}}, {{3, 6}, {17, 3, 2}, {17}}, {{0, 2, 5}, {3, 2, 3}, {3}}};
  check_op("conv1d", [](const Inputs& x) { return conv1d(x[0], x[1], x[2], {.stride = 2, .padding = 2}); },
           samples, {.error_names = {"conv2d"}});
  check_op("conv1d", [](const Inputs& x) { return conv1d(x[0], x[1], {}, {.dilation = 2, .groups = 2}); },
           {{{2, 4, 7}, {6, 2, 3}}}, {.error_names = {"conv2d"}});
}

TEST_CASE("transposed convolutions") {
  const std::vector<Shapes> samples{{{2, 3, 4, 3}, {3, 5, 3, 3}, {5}}, {{1, 16, 3, 4}, {16, 17, 2, 3}, {17}},
                                    {{3, 4, 4}, {3, 2, 3, 3}, {2}},    {{1, 1, 1, 1}, {1, 1, 3, 3}, {1}},
                                    {{0, 2, 3, 3}, {2, 3, 3, 3}, {3}}, {{4, 9, 5, 4}, {9, 6, 3, 3}, {6}}};
  for (const ConvTranspose2dOptions& options :
       {ConvTranspose2dOptions{}, ConvTranspose2dOptions{.stride = 2, .padding = 1, .output_padding = 1},
        ConvTranspose2dOptions{.stride = {1, 3}, .output_padding = {1, 2}, .dilation = {2, 1}}}) {
    check_op("conv_transpose2d", [=](const Inputs& x) { return conv_transpose2d(x[0], x[1], x[2], options); },
             samples, {.error_names = {"cat"}});
  }
  check_op("conv_transpose2d",
           [](const Inputs& x) {
             return conv_transpose2d(x[0], x[1], {}, {.stride = 2, .padding = 1, .groups = 2});
           },
           {{{2, 4, 4, 4}, {4, 3, 3, 3}}});
  check_op("conv_transpose2d",
           [](const Inputs& x) { return conv_transpose2d(x[0], x[1], x[2], {.padding = 1}); },
           {{{2, 2, 2, 3}, {2, 3, 1, 1}, {3}}, {{1, 16, 1, 1}, {16, 8, 2, 2}, {8}}});
}

TEST_CASE("convolutions through relu") {
  for (const Conv2dOptions& options :
       {Conv2dOptions{.padding = 1}, Conv2dOptions{.stride = 2, .padding = 1}}) {
    check_op("conv2d_relu", [=](const Inputs& x) { return conv2d_relu(x[0], x[1], x[2], options); }, plain,
             {.error_names = {"conv2d"}});
  }
}

TEST_CASE("convolutions through relu and max pool") {
  const auto fused = [](const Inputs& x) { return conv2d_relu_max_pool2d(x[0], x[1], x[2], {.padding = 2}); };
  check_op("conv2d_relu_max_pool2d", fused, plain, {.jumps = true, .error_names = {"conv2d", "conv2d_relu"}});
}

TEST_CASE("max pooling") {
  const std::vector<Shapes> samples{{{2, 3, 6, 4}}, {{1, 2, 7, 5}}, {{1, 17, 5, 6}}, {{3, 6, 6}},
                                    {{0, 2, 5, 4}}, {{1, 1, 5, 5}}, {{2, 8, 40, 40}}};
  for (const MaxPool2dOptions& options :
       {MaxPool2dOptions{}, MaxPool2dOptions{.stride = 1},
        MaxPool2dOptions{.stride = Size2(1, 2), .padding = 1}, MaxPool2dOptions{.ceil_mode = true},
        MaxPool2dOptions{.stride = 1, .padding = 1, .dilation = {1, 2}}}) {
    check_op("max_pool2d", [=](const Inputs& x) { return max_pool2d(x[0], 2, options); }, samples,
             {.jumps = true});
    check_op("max_pool2d",
             [=](const Inputs& x) {
               return max_pool2d(x[0], {4, 3}, options);
             },
             samples, {.jumps = true});
  }
}
