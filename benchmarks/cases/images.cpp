// Channels-last, as Tern's convolutions give it; PyTorch has the layout that is the faster one for it.
#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {
namespace {

using namespace tern;

Cases convolutions() {
  const Input x = image({16, 64, 32, 32}), weight = normal({64, 64, 3, 3});
  const auto conv = [](Conv2dOptions options) {
    return [=](auto& a, auto& w) { return conv2d(a, w, {}, options); };
  };
  const auto lines = [](auto& a, auto& w) { return conv1d(a, w, {}, {.padding = 1}); };
  const auto transposed = [](auto& a, auto& w) {
    return conv_transpose2d(a, w, {}, {.stride = 2, .padding = 1});
  };
  return {
      {"conv2d and backward", both(conv({.padding = 1}), x, weight)},
      {"conv2d of stride 2 and backward", both(conv({.stride = 2, .padding = 1}), x, weight)},
      {"conv2d 1x1 and backward", both(conv({}), x, normal({64, 64, 1, 1}))},
      {"dilated conv2d and backward", both(conv({.padding = 2, .dilation = 2}), x, weight)},
      {"grouped conv2d and backward", both(conv({.padding = 1, .groups = 4}), x, normal({64, 16, 3, 3}))},
      {"depthwise conv2d and backward", both(conv({.padding = 1, .groups = 64}), x, normal({64, 1, 3, 3}))},
      {"conv1d and backward", both(lines, normal({32, 64, 256}), normal({64, 64, 3}))},
      {"conv_transpose2d and backward", both(transposed, image({16, 64, 16, 16}), normal({64, 32, 4, 4}))},
  };
}

Cases pools() {
  const Input x = image({32, 64, 32, 32}), small = image({16, 32, 32, 32});
  const auto up = [](InterpolateMode mode) {
    return [=](auto& a) { return interpolate(a, {.scale_factor = 2.0, .mode = mode}); };
  };
  return {
      {"max_pool2d and backward", both([](auto& a) { return max_pool2d(a, 2); }, x)},
      {"max_pool2d 3x3 and backward",
       both([](auto& a) { return max_pool2d(a, 3, {.stride = 2, .padding = 1}); }, x)},
      {"avg_pool2d and backward", both([](auto& a) { return avg_pool2d(a, 2); }, x)},
      {"adaptive_avg_pool2d and backward", both([](auto& a) { return adaptive_avg_pool2d(a, 7); }, x)},
      {"adaptive_avg_pool2d to 1 and backward", both([](auto& a) { return adaptive_avg_pool2d(a, 1); }, x)},
      {"interpolate nearest and backward", both(up(InterpolateMode::nearest), small)},
      {"interpolate bilinear and backward", both(up(InterpolateMode::bilinear), small)},
  };
}

Cases normalizations() {
  const Input x = image({32, 64, 32, 32}), parameter = normal({64});
  const auto groups = [](auto& a, auto& weight, auto& bias) { return group_norm(a, 8, weight, bias); };
  return {
      {"batch_norm2d and backward",
       layer([] { return nn::BatchNorm2d(64); }, [](auto& norm, auto& a) { return norm(a); }, x)},
      {"group_norm", forward(groups, x, parameter, parameter)},
      {"group_norm and backward", both(groups, x, parameter, parameter)},
  };
}

}  // namespace

Cases image_cases() {
  Cases cases;
  for (Cases (*list)() : {convolutions, pools, normalizations})
    for (Case& one : list()) cases.push_back(std::move(one));
  return cases;
}

}  // namespace benchmarks
