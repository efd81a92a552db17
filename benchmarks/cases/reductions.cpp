#include <tern/benchmarks/cases/cases.h>

namespace benchmarks {

using namespace tern;

Cases reduction_cases() {
  const Input x = normal({1024, 1024});
  return {
      {"sum", forward([](auto& a) { return sum(a); }, x)},
      {"sum of rows", forward([](auto& a) { return sum(a, 1); }, x)},
      {"sum of columns", forward([](auto& a) { return sum(a, 0); }, x)},
      {"sum over the middle dimension", forward([](auto& a) { return sum(a, 1); }, normal({64, 128, 128}))},
      {"sum and backward", both([](auto& a) { return sum(a, 1); }, x)},
      {"mean", forward([](auto& a) { return mean(a); }, x)},
      {"var of rows", forward([](auto& a) { return var(a, {1}); }, x)},
      {"std", forward([](auto& a) { return stddev(a); }, x)},
      {"std of rows", forward([](auto& a) { return stddev(a, {1}); }, x)},
      {"prod of rows", forward([](auto& a) { return prod(a, 1); }, positive({1024, 1024}))},
      {"logsumexp of rows", forward([](auto& a) { return logsumexp(a, {1}); }, x)},
      {"max of rows", forward([](auto& a) { return amax(a, {1}); }, x)},
      {"argmax of rows", forward([](auto& a) { return argmax(a, 1); }, x)},
      {"argmax of columns", forward([](auto& a) { return argmax(a, 0); }, x)},
      {"any", forward([](auto& a) { return any(a); }, truth(false, {1024, 1024}))},
      {"any of rows", forward([](auto& a) { return any(a, {1}); }, truth(false, {1024, 1024}))},
      {"norm", forward([](auto& a) { return norm(a); }, x)},
  };
}

}  // namespace benchmarks
