#include <tern/autograd/functional.h>
#include <tern/autograd/losses.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/statistics.h>
#include <tern/autograd/views.h>
#include <tern/tests/support/golden.h>
#include <tern/tests/support/layouts.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

using Tensors = std::vector<Tensor>;

template <class Function>
GoldenOperation unary(Function function) {
  return [function](const Tensors& x, const Parameters&) -> Tensors { return {function(x[0])}; };
}

template <class Function>
GoldenOperation binary(Function function) {
  return [function](const Tensors& x, const Parameters&) -> Tensors { return {function(x[0], x[1])}; };
}

template <class Function>
GoldenOperation statistic(Function function) {
  return [function](const Tensors& x, const Parameters& p) -> Tensors { return {function(x[0], p)}; };
}

Shape dims_of(const Parameters& p) { return p.has("dims") ? Shape(p.list("dims")) : Shape{}; }

Size2 size2(const Parameters& p, const char* name) { return {p.list(name)[0], p.list(name)[1]}; }

Tensors golden_max(const Tensors& x, const Parameters& p) {
  if (!p.has("dims")) return {max(x[0])};
  const ValuesAndIndices chosen = max(x[0], p.list("dims")[0], p.flag("keepdim"));
  return {chosen.values, chosen.indices};
}

Tensors golden_argmax(const Tensors& x, const Parameters& p) {
  if (!p.has("dims")) return {argmax(x[0])};
  return {argmax(x[0], p.list("dims")[0], p.flag("keepdim"))};
}

Tensors golden_cross_entropy(const Tensors& x, const Parameters& p) {
  const std::map<std::string, Reduction> reductions{
      {"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}};
  CrossEntropyOptions options;
  if (x.size() > 2) options.weight = x[2];
  options.ignore_index = static_cast<int64_t>(p.number("ignore_index"));
  options.label_smoothing = p.number("label_smoothing");
  options.reduction = reductions.at(p.text("reduction"));
  return {cross_entropy(x[0], x[1], options)};
}

Tensors golden_conv2d(const Tensors& x, const Parameters& p) {
  const Conv2dOptions options{size2(p, "stride"), size2(p, "padding"), size2(p, "dilation"),
                              static_cast<int64_t>(p.number("groups"))};
  return {conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options)};
}

Tensors golden_max_pool2d(const Tensors& x, const Parameters& p) {
  return {max_pool2d(x[0], size2(p, "kernel"),
                     {size2(p, "stride"), size2(p, "padding"), size2(p, "dilation"), p.flag("ceil_mode")})};
}

Tensors golden_pow(const Tensors& x, const Parameters& p) {
  return {x.size() > 1 ? pow(x[0], x[1]) : pow(x[0], p.number("exponent"))};
}

Tensors golden_clamp(const Tensors& x, const Parameters& p) {
  std::optional<Scalar> low, high;
  if (p.has("low")) low = p.number("low");
  if (p.has("high")) high = p.number("high");
  return {clamp(x[0], low, high)};
}

Tensors golden_gelu(const Tensors& x, const Parameters& p) {
  return {gelu(x[0], p.text("approximate") == "tanh" ? GeluApproximation::tanh : GeluApproximation::none)};
}

int64_t dim_of(const Parameters& p) { return static_cast<int64_t>(p.number("dim")); }

using T = const Tensor&;
const GoldenTable operations{
    {"add", binary([](T a, T b) { return a + b; })},
    {"sub", binary([](T a, T b) { return a - b; })},
    {"mul", binary([](T a, T b) { return a * b; })},
    {"div", binary([](T a, T b) { return a / b; })},
    {"eq", binary([](T a, T b) { return a == b; })},
    {"ne", binary([](T a, T b) { return a != b; })},
    {"lt", binary([](T a, T b) { return a < b; })},
    {"le", binary([](T a, T b) { return a <= b; })},
    {"gt", binary([](T a, T b) { return a > b; })},
    {"ge", binary([](T a, T b) { return a >= b; })},
    {"neg", unary([](T x) { return -x; })},
    {"exp", unary([](T x) { return exp(x); })},
    {"log", unary([](T x) { return log(x); })},
    {"sqrt", unary([](T x) { return sqrt(x); })},
    {"tanh", unary([](T x) { return tanh(x); })},
    {"relu", unary([](T x) { return relu(x); })},
    {"abs", unary([](T x) { return abs(x); })},
    {"sign", unary([](T x) { return sign(x); })},
    {"square", unary([](T x) { return square(x); })},
    {"rsqrt", unary([](T x) { return rsqrt(x); })},
    {"reciprocal", unary([](T x) { return reciprocal(x); })},
    {"sin", unary([](T x) { return sin(x); })},
    {"cos", unary([](T x) { return cos(x); })},
    {"log1p", unary([](T x) { return log1p(x); })},
    {"expm1", unary([](T x) { return expm1(x); })},
    {"erf", unary([](T x) { return erf(x); })},
    {"round", unary([](T x) { return round(x); })},
    {"floor", unary([](T x) { return floor(x); })},
    {"ceil", unary([](T x) { return ceil(x); })},
    {"sigmoid", unary([](T x) { return sigmoid(x); })},
    {"silu", unary([](T x) { return silu(x); })},
    {"logical_not", unary([](T x) { return logical_not(x); })},
    {"maximum", binary([](T a, T b) { return maximum(a, b); })},
    {"minimum", binary([](T a, T b) { return minimum(a, b); })},
    {"logical_and", binary([](T a, T b) { return logical_and(a, b); })},
    {"logical_or", binary([](T a, T b) { return logical_or(a, b); })},
    {"logical_xor", binary([](T a, T b) { return logical_xor(a, b); })},
    {"pow", golden_pow},
    {"clamp", golden_clamp},
    {"where", [](const Tensors& x, const Parameters&) -> Tensors { return {where(x[0], x[1], x[2])}; }},
    {"masked_fill",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {masked_fill(x[0], x[1], p.number("value"))};
     }},
    {"leaky_relu",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {leaky_relu(x[0], p.number("negative_slope"))};
     }},
    {"elu", [](const Tensors& x, const Parameters& p) -> Tensors { return {elu(x[0], p.number("alpha"))}; }},
    {"gelu", golden_gelu},
    {"softplus",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {softplus(x[0], p.number("beta"), p.number("threshold"))};
     }},
    {"matmul", binary([](T a, T b) { return matmul(a, b); })},
    {"linear",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {linear(x[0], x[1], p.flag("bias") ? x[2] : Tensor())};
     }},
    {"sum",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {sum(x[0], dims_of(p), p.flag("keepdim"))};
     }},
    {"mean",
     [](const Tensors& x, const Parameters& p) -> Tensors {
       return {mean(x[0], dims_of(p), p.flag("keepdim"))};
     }},
    {"var", statistic([](T x, const Parameters& p) {
       return var(x, dims_of(p), p.number("correction"), p.flag("keepdim"));
     })},
    {"stddev", statistic([](T x, const Parameters& p) {
       return stddev(x, dims_of(p), p.number("correction"), p.flag("keepdim"));
     })},
    {"norm", statistic([](T x, const Parameters& p) {
       return norm(x, std::stod(p.text("p")), dims_of(p), p.flag("keepdim"));
     })},
    {"logsumexp",
     statistic([](T x, const Parameters& p) { return logsumexp(x, dims_of(p), p.flag("keepdim")); })},
    {"amax", statistic([](T x, const Parameters& p) { return amax(x, dims_of(p), p.flag("keepdim")); })},
    {"amin", statistic([](T x, const Parameters& p) { return amin(x, dims_of(p), p.flag("keepdim")); })},
    {"max", golden_max},
    {"argmax", golden_argmax},
    {"conv2d", golden_conv2d},
    {"max_pool2d", golden_max_pool2d},
    {"softmax", [](const Tensors& x, const Parameters& p) -> Tensors { return {softmax(x[0], dim_of(p))}; }},
    {"log_softmax",
     [](const Tensors& x, const Parameters& p) -> Tensors { return {log_softmax(x[0], dim_of(p))}; }},
    {"cross_entropy", golden_cross_entropy},
    {"cat", [](const Tensors& x, const Parameters& p) -> Tensors { return {cat(x, dim_of(p))}; }},
    {"index_select",
     [](const Tensors& x, const Parameters& p) -> Tensors { return {index_select(x[0], dim_of(p), x[1])}; }},
};

DType dtype_named(const std::string& text) {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    if (text == name(dtype)) return dtype;
  }
  throw Error("no dtype is named " + text);
}

}  // namespace

TEST_CASE("every golden case of every operation is met, value and gradients") {
  CHECK(golden_problems("ops.safetensors", operations) == "");
}

TEST_CASE("two dtypes meet as in PyTorch") {
  Golden golden;
  const auto table = Parameters(golden.metadata().at("promotion")).texts();
  CHECK(table.size() == 64);
  std::string problems;
  for (const auto& [pair, expected] : table) {
    const DType a = dtype_named(pair.substr(0, pair.find('+'))),
                b = dtype_named(pair.substr(pair.find('+') + 1));
    const DType got = add(scattered({2}, 0, 2, a), scattered({2}, 0, 2, b)).dtype();
    if (got != dtype_named(expected)) problems += pair + " gave " + std::string(name(got)) + "\n";
  }
  CHECK(problems == "");
}
