// Joining, splitting, rearranging, padding, products and resizing against PyTorch's values
// (tests/golden/golden_shape.py).
#include <tern/autograd/functional.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/views.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

int64_t integer(const Parameters& p, const char* name) { return static_cast<int64_t>(p.number(name)); }

// A list of results as the file stores it.
Tensor weighted(const Tensors& parts) {
  Tensors rows;
  for (size_t i = 0; i < parts.size(); ++i) rows.push_back(reshape(parts[i] * (i + 1), {-1}));
  return cat(rows);
}

template <class Function>
GoldenOperation of_one(Function function) {
  return [function](const Tensors& x, const Parameters& p) -> Tensors { return {function(x[0], p)}; };
}

template <class Function>
GoldenOperation of_two(Function function) {
  return [function](const Tensors& x, const Parameters&) -> Tensors { return {function(x[0], x[1])}; };
}

Tensor golden_pad(const Tensor& x, const Parameters& p) {
  const std::map<std::string, PadMode> modes{{"constant", PadMode::constant},
                                             {"reflect", PadMode::reflect},
                                             {"replicate", PadMode::replicate},
                                             {"circular", PadMode::circular}};
  return pad(x, p.list("padding"), modes.at(p.text("mode")), p.number("value"));
}

Tensor golden_interpolate(const Tensor& x, const Parameters& p) {
  InterpolateOptions options;
  if (p.has("size")) options.size = Size2(p.list("size")[0], p.list("size")[1]);
  if (p.has("scale_factor"))
    options.scale_factor = Scale2(p.numbers("scale_factor")[0], p.numbers("scale_factor")[1]);
  options.mode = p.text("mode") == "nearest" ? InterpolateMode::nearest : InterpolateMode::bilinear;
  options.align_corners = p.flag("align_corners");
  return interpolate(x, options);
}

Tensor golden_repeat_interleave(const Tensor& x, const Parameters& p) {
  return p.has("dim") ? repeat_interleave(x, integer(p, "repeats"), integer(p, "dim"))
                      : repeat_interleave(x, integer(p, "repeats"));
}

using X = const Tensor&;
using P = const Parameters&;
const GoldenTable operations{
    {"stack", [](const Tensors& x, P p) -> Tensors { return {stack(x, integer(p, "dim"))}; }},
    {"split", of_one([](X x, P p) { return weighted(split(x, integer(p, "size"), integer(p, "dim"))); })},
    {"split_sizes", of_one([](X x, P p) { return weighted(split(x, p.list("sizes"), integer(p, "dim"))); })},
    {"chunk", of_one([](X x, P p) { return weighted(chunk(x, integer(p, "chunks"), integer(p, "dim"))); })},
    {"unbind", of_one([](X x, P p) { return weighted(unbind(x, integer(p, "dim"))); })},
    {"flip", of_one([](X x, P p) { return flip(x, p.list("dims")); })},
    {"roll", of_one([](X x, P p) { return roll(x, p.list("shifts"), p.list("dims")); })},
    {"repeat", of_one([](X x, P p) { return repeat(x, p.list("sizes")); })},
    {"repeat_interleave", of_one(golden_repeat_interleave)},
    {"tril", of_one([](X x, P p) { return tril(x, integer(p, "diagonal")); })},
    {"triu", of_one([](X x, P p) { return triu(x, integer(p, "diagonal")); })},
    {"movedim", of_one([](X x, P p) { return movedim(x, p.list("dims")[0], p.list("dims")[1]); })},
    {"swapaxes", of_one([](X x, P p) { return swapaxes(x, p.list("dims")[0], p.list("dims")[1]); })},
    {"diagonal", of_one([](X x, P p) {
       return diagonal(x, integer(p, "offset"), p.list("dims")[0], p.list("dims")[1]);
     })},
    {"pad", of_one(golden_pad)},
    {"matmul", of_two([](X a, X b) { return matmul(a, b); })},
    {"dot", of_two([](X a, X b) { return dot(a, b); })},
    {"outer", of_two([](X a, X b) { return outer(a, b); })},
    {"bmm", of_two([](X a, X b) { return bmm(a, b); })},
    {"einsum", [](const Tensors& x, P p) -> Tensors { return {einsum(p.text("equation"), x)}; }},
    {"interpolate", of_one(golden_interpolate)},
};

}  // namespace

TEST_CASE("shapes, products and sizes agree with PyTorch, value and gradients") {
  CHECK(golden_problems("shape.safetensors", operations) == "");
}
