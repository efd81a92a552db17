#include <tern/kernels/index.h>
#include <tern/tests/kernels/reference.h>

#include <array>

using namespace tern;
using namespace tern::tests;

namespace {

// Row-major element `i` of `shape` as (before dim, along dim, after dim).
std::array<int64_t, 3> split(const Shape& shape, int64_t dim, int64_t i) {
  int64_t inner = 1;
  for (int d = shape.dim() - 1; d > dim; --d) inner *= shape[d];
  return {i / inner / shape[dim], i / inner % shape[dim], i % inner};
}

size_t join(const Shape& shape, int64_t dim, std::array<int64_t, 3> at) {
  int64_t inner = 1;
  for (int d = shape.dim() - 1; d > dim; --d) inner *= shape[d];
  return static_cast<size_t>((at[0] * shape[dim] + at[1]) * inner + at[2]);
}

const std::vector<Shape> shapes{{1}, {9}, {3, 5}, {9, 1}, {2, 3, 4}, {4, 0, 3}, {2, 3, 4, 5}, {300, 70}};

}  // namespace

TEST_CASE("index_select takes slices in the order of the index, repeated ones too") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float16, int64, boolean}) {
      const Tensor x = random_tensor(shape, dtype);
      for (int64_t dim = 0; dim < x.dim(); ++dim) {
        const int64_t size = shape[dim];
        const Tensor index = generate<int64_t>({size ? 7 : 0}, [&](int64_t i) { return (i * 5 + 2) % size; });
        for (const Tensor& layout : layouts_of(x)) {
          for (const Tensor& positions : layouts_of(index)) {
            const Tensor y = kernels::index_select(layout, dim - x.dim(), positions);
            CHECK(y.size(dim) == index.numel());
            const std::vector<double> got = values(y), all = values(x);
            for (size_t i = 0; i < got.size(); ++i) {
              auto at = split(y.shape(), dim, static_cast<int64_t>(i));
              at[1] = index.data<int64_t>()[at[1]];
              CHECK(got[i] == all[join(shape, dim, at)]);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("index_add adds slices, repeated ones one after another") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float64, bfloat16, int32}) {
      for (int64_t dim = 0; dim < shape.dim(); ++dim) {
        if (shape[dim] == 0) continue;
        Shape taken = shape;
        taken[dim] = 7;
        const Tensor start = kernels::to(random_tensor(shape, uint8), dtype);
        const Tensor src = kernels::to(random_tensor(taken, uint8, 2), dtype);
        const Tensor index = generate<int64_t>({7}, [&](int64_t i) { return (i * 5 + 2) % shape[dim]; });
        std::vector<double> expected = values(start);
        const std::vector<double> added = values(src);
        for (size_t i = 0; i < added.size(); ++i) {
          auto at = split(taken, dim, static_cast<int64_t>(i));
          at[1] = index.data<int64_t>()[at[1]];
          expected[join(shape, dim, at)] += added[i];
        }
        for (const Tensor& dst : layouts_of(start)) {
          kernels::index_add(dst, dim, index, layouts_of(src).back());
          CHECK(values(dst) == expected);
        }
      }
    }
  }
}

TEST_CASE("cat joins tensors of any layout along any dimension") {
  for (const DType dtype : {float32, float16, int64}) {
    for (int64_t dim = 0; dim < 3; ++dim) {
      std::vector<Tensor> parts;
      std::vector<int64_t> starts;
      int64_t total = 0;
      for (const int64_t size : {3, 0, 1, 5}) {
        Shape shape{2, 3, 4};
        shape[dim] = size;
        starts.push_back(total);
        total += size;
        parts.push_back(layouts_of(random_tensor(shape, dtype, static_cast<uint64_t>(size))).back());
      }
      const Tensor y = kernels::cat(parts, dim - 3);
      CHECK(y.size(dim) == total);
      CHECK(y.dtype() == dtype);
      const std::vector<double> got = values(y);
      for (size_t k = 0; k < parts.size(); ++k) {
        const std::vector<double> part = values(parts[k]);
        for (size_t i = 0; i < part.size(); ++i) {
          auto at = split(parts[k].shape(), dim, static_cast<int64_t>(i));
          at[1] += starts[k];
          CHECK(part[i] == got[join(y.shape(), dim, at)]);
        }
      }
    }
  }
}

TEST_CASE("cat keeps channels-last when all tensors have it") {
  const Tensor a = kernels::contiguous(random_tensor({2, 3, 4, 5}), MemoryFormat::channels_last);
  const std::vector<Tensor> alike{a, a}, mixed{a, random_tensor({2, 3, 4, 5})};
  CHECK(kernels::cat(alike, 1).is_channels_last());
  CHECK(kernels::cat(mixed, 1).is_contiguous());
}

TEST_CASE("one_hot marks the class") {
  CHECK(values(kernels::one_hot(make<int64_t>({3}, {2, 0, 1}), 3)) ==
        std::vector<double>{0, 0, 1, 1, 0, 0, 0, 1, 0});
  CHECK(kernels::one_hot(make<int64_t>({}, {1}), 4).shape() == Shape{4});
  CHECK(kernels::one_hot(empty({2, 0}, int64), 4).shape() == Shape{2, 0, 4});
}

TEST_CASE(
    "indices outside their dimension are errors that name position and value, before anything is written") {
  const Tensor x = random_tensor({4, 3}), bad = make<int64_t>({3}, {0, 3, 4}),
               negative = make<int64_t>({2}, {0, -1});
  CHECK(contains(error_of([&] { kernels::index_select(x, 0, bad); }), "index_select: index 4 at position 2"));
  CHECK(contains(error_of([&] { kernels::index_select(x, 1, negative); }), "index -1 at position 1"));
  const std::vector<double> before = values(x);
  CHECK(contains(error_of([&] {
                   kernels::index_add(x, 0, bad, random_tensor({3, 3}));
                 }),
                 "index_add: index 4"));
  CHECK(values(x) == before);
  CHECK(contains(error_of([&] { kernels::one_hot(bad, 4); }), "one_hot: index 4 at position 2"));
}

TEST_CASE("index operations and cat refuse arguments that do not fit") {
  const Tensor x = random_tensor({4, 3}), index = make<int64_t>({2}, {0, 1});
  const Tensor spread = x.with_layout(x.layout().select(0, 0).expand({4, 3}));
  CHECK(contains(error_of([&] { kernels::index_select(x, 0, random_tensor({2}, int32)); }),
                 "int64, got int32"));
  CHECK(contains(error_of([&] {
                   kernels::index_add(spread, 0, index, random_tensor({2, 3}));
                 }),
                 "clone() first"));
  CHECK(contains(error_of([&] {
                   kernels::index_add(x, 0, index, random_tensor({3, 3}));
                 }),
                 "index_add: src must be [2, 3]"));
  CHECK(contains(error_of([] { kernels::cat({}, 0); }), "at least one tensor"));
  const std::vector<Tensor> sizes{x, random_tensor({4, 2})}, types{x, random_tensor({4, 3}, int64)};
  CHECK(contains(error_of([&] { kernels::cat(sizes, 0); }), "[4, 3] and [4, 2]"));
  CHECK(contains(error_of([&] { kernels::cat(types, 0); }), "one dtype"));
}

TEST_CASE("index operations have the same bits for any number of threads") {
  const Tensor x = random_tensor({40, 50, 60}),
               index = generate<int64_t>({300}, [](int64_t i) { return i * 7 % 50; });
  const Tensor src = random_tensor({40, 300, 60}, float32, 2);
  CHECK(same_for_all_threads([&] { return kernels::index_select(x, 1, index); }));
  CHECK(same_for_all_threads([&] {
    const Tensor y = kernels::clone(x);
    kernels::index_add(y, 1, index, src);
    return y;
  }));
}
