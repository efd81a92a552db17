#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {

using namespace tern;

Cases indexing_cases() {
  const Shape square = {1024, 1024};
  const Input x = normal(square), places = integers(1024, square), rows = integers(1024, {1024});
  const auto gathered = [](auto& a, auto& index) { return gather(a, 1, index); };
  const auto scattered = [](auto& a, auto& index, auto& src) { return scatter_add(a, 1, index, src); };
  const auto selected = [](auto& a, auto& index) { return index_select(a, 0, index); };
  return {
      {"gather", forward(gathered, x, places)},
      {"gather and backward", both(gathered, x, places)},
      {"scatter_add", forward(scattered, x, places, x)},
      {"scatter_add and backward", both(scattered, x, places, x)},
      {"index_select", forward(selected, x, rows)},
      {"index_select and backward", both(selected, x, rows)},
      {"sort", forward([](auto& a) { return sort(a); }, x)},
      {"sort int64", forward([](auto& a) { return sort(a); }, places)},
      {"topk", forward([](auto& a) { return topk(a, 10); }, x)},
      {"cumsum", forward([](auto& a) { return cumsum(a, 1); }, x)},
      {"cumsum of columns", forward([](auto& a) { return cumsum(a, 0); }, x)},
  };
}

Cases copy_cases() {
  const Input x = normal({1024, 1024}), planes = normal({32, 64, 32, 32});
  return {
      {"transposed copy", forward([](auto& a) { return contiguous(t(a)); }, x)},
      {"permute NCHW to NHWC", forward(
                                   [](auto& a) {
                                     return contiguous(permute(a, {0, 2, 3, 1}));
                                   },
                                   planes)},
      {"clone", forward([](auto& a) { return clone(a); }, x)},
      {"to float16", forward([](auto& a) { return to(a, float16); }, x)},
      {"to bfloat16", forward([](auto& a) { return to(a, bfloat16); }, x)},
      {"to float64", forward([](auto& a) { return to(a, float64); }, x)},
      {"float16 to float32", forward([](auto& a) { return to(a, float32); }, normal({1024, 1024}, float16))},
      {"flip", forward([](auto& a) { return flip(a, {1}); }, x)},
      {"roll", forward([](auto& a) { return roll(a, {100}, {1}); }, x)},
      {"pad", forward(
                  [](auto& a) {
                    return pad(a, {1, 1, 1, 1});
                  },
                  planes)},
      {"pad reflect", forward(
                          [](auto& a) {
                            return pad(a, {1, 1, 1, 1}, PadMode::reflect);
                          },
                          planes)},
      {"cat", forward(
                  [](auto& a, auto& b) {
                    return cat({a, b}, 1);
                  },
                  x, x)},
      {"cat and backward", both(
                               [](auto& a, auto& b) {
                                 return cat({a, b}, 1);
                               },
                               x, x)},
      {"stack", forward(
                    [](auto& a, auto& b) {
                      return stack({a, b});
                    },
                    x, x)},
  };
}

}  // namespace benchmarks
