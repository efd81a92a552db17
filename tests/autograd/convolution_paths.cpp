// The ways in which float32 convolutions are computed, against float64's one way.
#include <tern/autograd/backward.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/core/thread_pool.h>
#include <tern/kernels/conv.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

using namespace tern;
using namespace tern::tests;

namespace {

struct Case {
  Shape x, weight;
  Conv2dOptions options;
  bool relu = false;
};

// The result and the gradients of input, weight and bias.
std::vector<Tensor> run(const Case& c, DType dtype) {
  std::vector<Tensor> leaves;
  for (const Shape& shape : {c.x, c.weight, Shape{c.weight[0]}})
    leaves.push_back(kernels::to(scattered(shape, -1, 1, float32), dtype).detach().requires_grad_());
  const Tensor y = (c.relu ? conv2d_relu : conv2d)(leaves[0], leaves[1], leaves[2], c.options);
  std::vector<Tensor> results =
      grad(sum(y * kernels::to(scattered(y.shape(), -1, 1, float32), dtype)), leaves);
  results.push_back(y.detach());
  return results;
}

double worst_distance(const Case& c) {
  const std::vector<Tensor> got = run(c, float32), want = run(c, float64);
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, distance(got[i], want[i]));
  return worst;
}

void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    std::ostringstream name;
    name << c.x << ' ' << c.weight << " stride " << c.options.stride << " padding " << c.options.padding
         << " dilation " << c.options.dilation << " groups " << c.options.groups;
    INFO(name.str());
    CHECK(worst_distance(c) < 1e-5);
  }
}

}  // namespace

TEST_CASE(
    "depthwise convolution: strides, paddings, dilations and tails of channels give float64's results") {
  for (const int64_t c : {2, 3, 5, 16, 17, 31, 50}) {
    check_cases({
        {{2, c, 7, 6}, {c, 1, 3, 3}, {.padding = 1, .groups = c}},
        {{2, c, 8, 9}, {c, 1, 3, 3}, {.stride = 2, .padding = 1, .groups = c}, true},
        {{1, c, 9, 8}, {c, 1, 5, 4}, {.stride = {3, 1}, .padding = {2, 0}, .groups = c}},
        {{1, c, 3, 3}, {c, 1, 7, 7}, {.padding = 3, .groups = c}},               // no window lies inside
        {{1, c, 2, 3}, {c, 1, 2, 2}, {.stride = 2, .padding = 5, .groups = c}},  // windows of zeros alone
        {{2, c, 9, 7}, {c, 1, 2, 2}, {.stride = 4, .padding = 1, .groups = c}},  // stride beyond the kernel
        {{1, c, 9, 7}, {c, 1, 3, 3}, {.padding = 4, .dilation = {3, 2}, .groups = c}},
        {{1, c, 12, 13}, {c, 1, 3, 3}, {.stride = {4, 6}, .padding = 5, .dilation = {6, 4}, .groups = c}},
        {{1, c, 1, 1}, {c, 1, 1, 1}, {.groups = c}},
        {{0, c, 4, 4}, {c, 1, 3, 3}, {.padding = 1, .groups = c}},
    });
  }
  check_cases({{{3, 40, 20, 30}, {40, 1, 3, 3}, {.padding = 1, .groups = 40}},
               {{2, 200, 14, 14}, {200, 1, 5, 5}, {.padding = 2, .groups = 200}}});
}

TEST_CASE("convolution in groups of a few channels gives float64's results") {
  for (const int64_t groups : {2, 5, 9}) {
    for (const int64_t width : {2, 4, 8}) {
      const int64_t c = groups * width;
      check_cases({
          {{2, c, 7, 6}, {c, width, 3, 3}, {.padding = 1, .groups = groups}, true},
          {{2, c, 8, 9}, {c, width, 3, 5}, {.stride = 2, .padding = {1, 3}, .groups = groups}},
          {{1, c, 9, 7}, {c, width, 3, 2}, {.padding = 2, .dilation = 2, .groups = groups}},
          {{1, c, 3, 3}, {c, width, 1, 1}, {.stride = 2, .padding = 3, .groups = groups}},
      });
    }
  }
  for (const int64_t copies : {2, 3}) {  // several results a channel
    check_cases({{{2, 7, 6, 5}, {7 * copies, 1, 3, 3}, {.padding = 1, .groups = 7}},
                 {{1, 4, 9, 9}, {4 * copies, 1, 3, 3}, {.stride = 2, .dilation = 2, .groups = 4}, true}});
  }
}

TEST_CASE("convolution in groups of many channels gives float64's results") {
  for (const Shape& weight :
       {Shape{16, 8, 3, 3}, {34, 3, 3, 3}, {6, 17, 2, 3}, {80, 16, 1, 1}, {2, 1, 3, 3}}) {
    const int64_t c = 2 * weight[1];
    check_cases({
        {{2, c, 7, 6}, weight, {.padding = 1, .groups = 2}},
        {{3, c, 9, 8}, weight, {.stride = 2, .padding = {1, 4}, .groups = 2}, true},
        {{1, c, 8, 9}, weight, {.stride = {5, 4}, .groups = 2}},
        {{1, c, 8, 9}, weight, {.padding = 2, .dilation = {2, 3}, .groups = 2}},
        {{0, c, 4, 4}, weight, {.groups = 2}},
    });
  }
  check_cases({{{2, 80, 20, 30}, {160, 16, 3, 3}, {.padding = 1, .groups = 5}},
               {{2, 288, 5, 5}, {288, 144, 3, 3}, {.padding = 1, .groups = 2}}});
}

TEST_CASE("dilated convolution gives float64's results") {
  for (const int64_t c : {1, 5, 16, 40}) {
    check_cases({
        {{2, c, 9, 8}, {19, c, 3, 3}, {.padding = 2, .dilation = 2}},
        {{1, c, 9, 8}, {7, c, 2, 5}, {.padding = {0, 9}, .dilation = {3, 4}}, true},
        {{1, c, 4, 4},
         {7, c, 3, 3},
         {.padding = 6, .dilation = 6}},  // taps in the padding but the middle one
        {{2, c, 9, 8}, {7, c, 3, 3}, {.stride = {2, 1}, .padding = 2, .dilation = {1, 2}}},
        {{2, c, 9, 8}, {7, c, 3, 3}, {.stride = 2, .padding = 2, .dilation = 2}},
        {{1, c, 9, 9}, {7, c, 1, 1}, {.dilation = 9}},
        {{0, c, 9, 9}, {7, c, 3, 3}, {.dilation = 2}},
    });
  }
  check_cases({{{3, 64, 20, 30}, {70, 64, 3, 3}, {.padding = 2, .dilation = 2}}});
}

TEST_CASE("convolutions in groups give the same bits for any number of threads") {
  const int before = get_num_threads();
  const std::vector<Case> cases{{{3, 40, 20, 30}, {40, 1, 3, 3}, {.padding = 1, .groups = 40}},
                                {{9, 24, 12, 12}, {24, 4, 3, 3}, {.stride = 2, .padding = 1, .groups = 6}},
                                {{3, 40, 20, 30}, {60, 20, 3, 3}, {.padding = 1, .groups = 2}},
                                {{3, 24, 20, 30}, {24, 24, 3, 3}, {.padding = 2, .dilation = 2}}};
  for (const Case& c : cases) {
    set_num_threads(1);
    const std::vector<Tensor> one = run(c, float32);
    set_num_threads(3);
    const std::vector<Tensor> three = run(c, float32);
    for (size_t i = 0; i < one.size(); ++i) CHECK(bits_equal(one[i], three[i]));
  }
  set_num_threads(before);
}

TEST_CASE("a depthwise convolution keeps NaN and infinity to their own channel, and out of the padding") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor weight = full({18, 1, 3, 3}, 1.0);
  weight.data<float>()[0] = static_cast<float>(infinity);  // its tap lies in the padding
  const Tensor y = conv2d(ones({1, 18, 1, 1}), weight, {}, {.padding = 1, .groups = 18});
  CHECK(values_of(y) == std::vector<double>(18, 1.0));
  Tensor x = full({1, 18, 1, 1}, 1.0);
  x.data<float>()[1] = NAN;
  const std::vector<double> values = values_of(conv2d(x, ones({18, 1, 1, 1}), {}, {.groups = 18}));
  for (size_t c = 0; c < 18; ++c) CHECK(std::isnan(values[c]) == (c == 1));
}
