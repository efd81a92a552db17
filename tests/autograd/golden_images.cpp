#include <tern/autograd/functional.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

Tensor given(const Tensors& x, size_t i) { return i < x.size() ? x[i] : Tensor(); }

int64_t integer(const Parameters& p, const char* name) { return static_cast<int64_t>(p.number(name)); }

Size2 size2(const Parameters& p, const char* name) { return {p.list(name)[0], p.list(name)[1]}; }

OutputSize2 output_size(const Parameters& p) {
  const auto part = [](int64_t size) { return size < 0 ? std::nullopt : std::optional(size); };
  return {part(p.list("size")[0]), part(p.list("size")[1])};
}

Tensors both(const ValuesAndIndices& pooled) { return {pooled.values, pooled.indices}; }

Tensors golden_avg_pool2d(const Tensors& x, const Parameters& p) {
  AvgPool2dOptions options{size2(p, "stride"), size2(p, "padding"), p.flag("ceil_mode"),
                           p.flag("count_include_pad")};
  if (p.has("divisor_override")) options.divisor_override = integer(p, "divisor_override");
  return {avg_pool2d(x[0], size2(p, "kernel"), options)};
}

Tensors golden_max_pool2d(const Tensors& x, const Parameters& p) {
  return both(max_pool2d_with_indices(
      x[0], size2(p, "kernel"),
      {size2(p, "stride"), size2(p, "padding"), size2(p, "dilation"), p.flag("ceil_mode")}));
}

Tensors golden_avg_pool1d(const Tensors& x, const Parameters& p) {
  return {avg_pool1d(
      x[0], integer(p, "kernel"),
      {.stride = integer(p, "stride"), .padding = integer(p, "padding"), .ceil_mode = p.flag("ceil_mode")})};
}

Tensors golden_max_pool1d(const Tensors& x, const Parameters& p) {
  return {max_pool1d(
      x[0], integer(p, "kernel"),
      {.stride = integer(p, "stride"), .padding = integer(p, "padding"), .ceil_mode = p.flag("ceil_mode")})};
}

Tensors golden_conv1d(const Tensors& x, const Parameters& p) {
  return {
      conv1d(x[0], x[1], given(x, 2),
             {integer(p, "stride"), integer(p, "padding"), integer(p, "dilation"), integer(p, "groups")})};
}

Tensors golden_conv_transpose2d(const Tensors& x, const Parameters& p) {
  return {conv_transpose2d(x[0], x[1], given(x, 2),
                           {size2(p, "stride"), size2(p, "padding"), size2(p, "output_padding"),
                            integer(p, "groups"), size2(p, "dilation")})};
}

const GoldenTable operations{
    {"avg_pool2d", golden_avg_pool2d},
    {"adaptive_avg_pool2d",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {adaptive_avg_pool2d(x[0], output_size(p))};
     }},
    {"adaptive_max_pool2d",
     [](const Tensors& x, const Parameters& p) {
       return both(adaptive_max_pool2d_with_indices(x[0], output_size(p)));
     }},
    {"max_pool2d_with_indices", golden_max_pool2d},
    {"avg_pool1d", golden_avg_pool1d},
    {"max_pool1d", golden_max_pool1d},
    {"conv1d", golden_conv1d},
    {"conv_transpose2d", golden_conv_transpose2d},
    {"conv2d_relu",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {conv2d_relu(x[0], x[1], given(x, 2), {size2(p, "stride"), size2(p, "padding")})};
     }},
    {"conv2d_relu_max_pool2d",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {conv2d_relu_max_pool2d(x[0], x[1], given(x, 2), {size2(p, "stride"), size2(p, "padding")})};
     }},
};

}  // namespace

TEST_CASE("pooling, lines, transposed and fused convolution give PyTorch's values, indices and gradients") {
  CHECK(golden_problems("images.safetensors", operations) == "");
}
