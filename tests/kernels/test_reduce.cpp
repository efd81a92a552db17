#include <tern/kernels/reduce.h>
#include <tern/tests/kernels/reference.h>

#include <functional>

using namespace tern;
using namespace tern::tests;

namespace {

const std::vector<Shape> shapes{{},           {1},           {0},           {13},      {257},
                                {70001},      {3, 5},        {300, 70},     {4, 1030}, {2000, 37},
                                {0, 3},       {3, 0},        {2, 3, 4},     {1, 9, 1}, {5, 17, 33},
                                {2, 3, 4, 5}, {3, 20, 6, 7}, {2, 130, 9, 9}};

// Every set of dimensions of a tensor.
std::vector<Shape> dim_lists(int64_t dims) {
  std::vector<Shape> lists{{}};
  for (int64_t bits = 1; bits < (1 << dims); ++bits) {
    Shape list;
    for (int64_t d = 0; d < dims; ++d) {
      if (bits >> d & 1) list.push_back(d);
    }
    lists.push_back(list);
  }
  return lists;
}

// Calls visit(output, value) for every element in row-major order.
Shape walk(const Tensor& x, const Shape& dims, const std::function<void(size_t, double)>& visit) {
  const std::vector<double> all = values(x);
  Shape kept = x.shape();
  for (const int64_t dim : dims) kept[dim] = 1;
  if (dims.empty()) kept = Shape::filled(static_cast<int>(x.dim()), 1);
  Layout out(kept);
  for (int d = 0; d < kept.dim(); ++d) {
    if (kept[d] == 1) out.strides[d] = 0;
  }
  out.shape = x.shape();
  for (size_t i = 0; i < all.size(); ++i) {
    visit(static_cast<size_t>(position(out, static_cast<int64_t>(i))), all[i]);
  }
  return kept;
}

using Step = double (*)(double, double);

std::vector<double> reference(const Tensor& x, const Shape& dims, double start, Step step) {
  Shape kept = walk(x, dims, [](size_t, double) {});
  std::vector<double> result(static_cast<size_t>(kept.numel()), start);
  walk(x, dims, [&](size_t at, double value) { result[at] = step(result[at], value); });
  return result;
}

double add(double a, double b) { return a + b; }
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

}  // namespace

TEST_CASE("sums and means over any dimensions of any layout equal plain double loops") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float64, float16, bfloat16}) {
      const Tensor x = random_tensor(shape, dtype);
      for (const Shape& dims : dim_lists(x.dim())) {
        const std::vector<double> expected = reference(x, dims, 0, add);
        std::vector<double> means = expected;
        const double scale = static_cast<double>(x.numel()) / static_cast<double>(expected.size());
        for (double& value : means) value /= scale;
        for (const Tensor& layout : layouts_of(x)) {
          const Tensor y = kernels::sum(layout, dims, true);
          CHECK(y.layout().is_dense());
          CHECK(difference(y, expected) <= tolerance(dtype) * (dtype == float32 ? 10 : 1));
          CHECK(difference(kernels::mean(layout, dims), means) <= tolerance(dtype));
        }
      }
    }
  }
}

TEST_CASE("maxima and minima over any dimensions of any layout are exact") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float64, float16, int64, uint8}) {
      const Tensor x = random_tensor(shape, dtype);
      if (x.numel() == 0) continue;
      for (const Shape& dims : dim_lists(x.dim())) {
        const std::vector<double> most = reference(x, dims, -INFINITY, larger);
        const std::vector<double> least = reference(x, dims, INFINITY, smaller);
        for (const Tensor& layout : layouts_of(x)) {
          CHECK(values(kernels::max(layout, dims)) == most);
          CHECK(values(kernels::min(layout, dims)) == least);
        }
      }
    }
  }
}

TEST_CASE("integers and booleans sum to int64, products multiply") {
  for (const DType dtype : {int64, int32, uint8, boolean}) {
    const Tensor x = random_tensor({50, 33}, dtype);
    const Tensor y = kernels::sum(x, {0});
    CHECK(y.dtype() == int64);
    CHECK(values(y) == reference(x, {0}, 0, add));
    CHECK(values(kernels::sum(x, {1})) == reference(x, {1}, 0, add));
  }
  CHECK(values(kernels::sum(make<int64_t>({2}, {int64_t{1} << 52, 1})))[0] == 0x1p52 + 1);
  CHECK(values(kernels::prod(make<float>({2, 3}, {1, 2, 3, 4, 5, 6}), {1})) == std::vector<double>{6, 120});
  CHECK(values(kernels::prod(make<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}), {0})) ==
        std::vector<double>{4, 10, 18});
  CHECK(kernels::prod(make<uint8_t>({2}, {200, 200})).item<int64_t>() == 40000);
}

TEST_CASE("sums and products of integers wrap around") {
  const Tensor x = make<int64_t>({2, 2}, {INT64_MAX, 1, INT64_MIN, -1});
  CHECK(kernels::sum(x, {1}).data<int64_t>()[0] == INT64_MIN);
  CHECK(kernels::sum(x, {1}).data<int64_t>()[1] == INT64_MAX);
  CHECK(kernels::sum(make<int64_t>({2, 2}, {INT64_MAX, 1, 1, INT64_MIN}), {0}).data<int64_t>()[0] ==
        INT64_MIN);
  CHECK(kernels::prod(make<int64_t>({3}, {INT64_MIN, -1, 1})).item<int64_t>() == INT64_MIN);
  CHECK(kernels::prod(make<int64_t>({2}, {int64_t{1} << 62, 4})).item<int64_t>() == 0);
  const Tensor many = empty({200000}, int64);
  kernels::fill(many, int64_t{1} << 62);
  CHECK(kernels::sum(many).item<int64_t>() == 0);
}

TEST_CASE("any and all look for non-zero elements, and NaN is one") {
  const Tensor x = make<float>({3, 2}, {0, 0, NAN, 0, 1, 2});
  CHECK(kernels::any(x, {1}).dtype() == boolean);
  CHECK(values(kernels::any(x, {1})) == std::vector<double>{0, 1, 1});
  CHECK(values(kernels::all(x, {1})) == std::vector<double>{0, 0, 1});
  CHECK(values(kernels::any(x, {0})) == std::vector<double>{1, 1});
  CHECK_FALSE(kernels::all(x).item<bool>());
  CHECK(kernels::any(make<int64_t>({2}, {0, int64_t{1} << 40})).item<bool>());
  CHECK(kernels::any(make<double>({1}, {1e-300})).item<bool>());
  CHECK(kernels::all(random_tensor({0, 3}), {0}).numel() == 3);
}

TEST_CASE("reducing nothing gives the neutral element, NaN for a mean, and an error for a maximum") {
  const Tensor x = empty({0, 3});
  CHECK(values(kernels::sum(x, {0})) == std::vector<double>{0, 0, 0});
  CHECK(values(kernels::prod(x, {0})) == std::vector<double>{1, 1, 1});
  CHECK(kernels::sum(x).item<float>() == 0);
  CHECK(std::isnan(kernels::mean(x).item<float>()));
  CHECK_FALSE(kernels::any(x).item<bool>());
  CHECK(kernels::all(x).item<bool>());
  CHECK(kernels::max(x, {1}).numel() == 0);
  CHECK(contains(error_of([&] { kernels::max(x, {0}); }),
                 "max: the reduced dimensions of shape [0, 3] are empty"));
  CHECK(contains(error_of([&] { kernels::argmax(x); }), "argmax: the tensor of shape [0, 3] is empty"));
  CHECK(contains(error_of([&] { kernels::argmax(x, 0); }), "argmax: dimension 0 of shape [0, 3] is empty"));
  CHECK(contains(error_of([&] { kernels::argmin(x, -2); }), "argmin: dimension 0 of shape [0, 3] is empty"));
  CHECK(contains(error_of([&] { kernels::min_with_indices(x, 0); }),
                 "min: dimension 0 of shape [0, 3] is empty"));
  CHECK(kernels::argmax(x, 1).shape() == Shape{0});
}

TEST_CASE("keepdim keeps the reduced dimensions with size 1") {
  const Tensor x = random_tensor({2, 3, 4});
  CHECK(kernels::sum(x, {0, -1}, true).shape() == Shape{1, 3, 1});
  CHECK(kernels::sum(x, {-1, 0}).shape() == Shape{3});
  CHECK(kernels::sum(x).shape() == Shape{});
  CHECK(kernels::sum(x, {}, true).shape() == Shape{1, 1, 1});
  CHECK(kernels::argmax(x, 1).shape() == Shape{2, 4});
  CHECK(kernels::argmax(x, 1, true).shape() == Shape{2, 1, 4});
  CHECK(kernels::argmax(x, {}, true).shape() == Shape{1, 1, 1});
  CHECK(contains(error_of([&] { kernels::sum(x, {0, -3}); }), "sum: dimension -3 is listed twice"));
  CHECK(contains(error_of([&] { kernels::sum(x, {3}); }), "sum"));
  CHECK(contains(error_of([&] { kernels::mean(random_tensor({2}, int64)); }), "floating-point"));
}

TEST_CASE("indices of extremes name the first in row-major order") {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {float32, float16, float64, int32, boolean}) {
      const Tensor x = random_tensor(shape, dtype);
      if (x.numel() == 0) continue;
      for (const Tensor& layout : layouts_of(x)) {
        for (int64_t dim = 0; dim < x.dim(); ++dim) {
          const auto [most, place] = kernels::max_with_indices(layout, dim, true);
          CHECK(values(most) == reference(x, {dim}, -INFINITY, larger));
          std::vector<double> first(static_cast<size_t>(most.numel()), -1);
          std::vector<double> seen(first.size(), 0);
          const std::vector<double> wanted = values(most);
          walk(x, {dim}, [&](size_t at, double value) {
            if (first[at] < 0 && value == wanted[at]) first[at] = seen[at];
            ++seen[at];
          });
          CHECK(values(place) == first);
          CHECK(values(kernels::argmax(layout, dim, true)) == first);
          CHECK(values(kernels::argmin(layout, dim)) ==
                values(kernels::min_with_indices(layout, dim).indices));
        }
        const std::vector<double> all = values(x);
        const auto most = std::max_element(all.begin(), all.end()),
                   least = std::min_element(all.begin(), all.end());
        CHECK(kernels::argmax(layout).item<int64_t>() == most - all.begin());
        CHECK(kernels::argmin(layout).item<int64_t>() == least - all.begin());
      }
    }
  }
}

TEST_CASE("NaN wins over every number, and the first NaN is named") {
  for (const int64_t size : {3, 40, 300, 70000}) {
    for (const int64_t place : {int64_t{0}, size / 2, size - 2}) {
      const Tensor row = random_tensor({size});
      row.data<float>()[place] = row.data<float>()[size - 1] = NAN;
      row.data<float>()[size / 3 == place ? size - 1 : size / 3] = INFINITY;
      const Tensor column = empty({size, 40});
      kernels::copy(row.with_layout(row.layout().unsqueeze(1)), column);
      const bool moved = size / 3 == place;
      for (const Tensor& y :
           {kernels::max(row), kernels::min(row), kernels::max(column, {0}), kernels::min(column, {0})}) {
        for (const double value : values(y)) CHECK(std::isnan(value));
      }
      CHECK(kernels::argmax(row).item<int64_t>() == place);
      CHECK(kernels::argmin(row, 0).item<int64_t>() == place);
      for (const double value : values(kernels::argmax(column, 0)))
        CHECK(value == static_cast<double>(place));
      CHECK((moved || std::isnan(kernels::sum(row).item<float>())));
    }
  }
  const Tensor low = empty({5});
  kernels::fill(low, -INFINITY);
  CHECK(kernels::max(low).item<float>() == -INFINITY);
  CHECK(kernels::argmax(low).item<int64_t>() == 0);
  CHECK(kernels::max_with_indices(make<float>({}, {3}), 0).indices.item<int64_t>() == 0);
}

TEST_CASE("extremes are right where sums of the elements are NaN or overflow") {
  for (const int64_t size : {2, 40, 300, 5000}) {
    const auto extremes = [&](const std::function<float(int64_t)>& value) {
      const Tensor row = generate<float>({size}, value);
      // Down the columns too.
      const Tensor column = kernels::contiguous(row.with_layout(row.layout().expand({70, size})));
      const Tensor most = kernels::max(column, {0}), least = kernels::min(column, {0});
      CHECK(values(most) == values(row));
      CHECK(values(least) == values(row));
      return std::pair(kernels::max(row).item<float>(), kernels::min(row).item<float>());
    };
    CHECK(extremes([](int64_t i) { return i % 2 ? INFINITY : -INFINITY; }) == std::pair(INFINITY, -INFINITY));
    CHECK(extremes([](int64_t i) { return i == 0 ? INFINITY : -INFINITY; }) ==
          std::pair(INFINITY, -INFINITY));
    CHECK(extremes([](int64_t) { return -INFINITY; }) == std::pair(-INFINITY, -INFINITY));
    const float huge = 3e38f;
    CHECK(extremes([=](int64_t i) { return i == size - 1 ? -huge : huge; }) == std::pair(huge, -huge));
  }
}

TEST_CASE("products of rows neither overflow nor vanish on the way") {
  const Tensor x = generate<float>({3, 4096}, [](int64_t i) {
    const int64_t place = i % 4096;
    return place % 256 == 0 && place < 2048 ? (place < 1024 ? 1e30f : 1e-30f) : 1.f;
  });
  for (const double product : values(kernels::prod(x, {1})))
    CHECK(product == doctest::Approx(1).epsilon(1e-3));
  const Tensor with_zero = generate<float>({4096}, [](int64_t i) { return i == 1000 ? 0.f : 1.001f; });
  CHECK(kernels::prod(with_zero).item<float>() == 0);
  const Tensor grown = generate<float>({1000}, [](int64_t) { return 1.001f; });
  CHECK(kernels::prod(grown).item<float>() == doctest::Approx(std::pow(double{1.001f}, 1000)).epsilon(1e-5));
}

TEST_CASE("any and all find a single element anywhere in long rows, in every dtype") {
  for (const DType dtype : {boolean, uint8, int32, int64, float16, bfloat16, float32, float64}) {
    const Tensor zeros = kernels::to(generate<float>({3, 5000}, [](int64_t) { return -0.f; }), dtype);
    CHECK(values(kernels::any(zeros, {1})) == std::vector<double>{0, 0, 0});
    for (const int64_t place : {0, 2047, 2048, 4999}) {
      const auto at = [=](int64_t i) { return i == 5000 + place; };
      const Tensor one =
          kernels::to(generate<float>({3, 5000}, [=](int64_t i) { return at(i) ? 1.f : 0.f; }), dtype);
      CHECK(values(kernels::any(one, {1})) == std::vector<double>{0, 1, 0});
      CHECK(kernels::any(one).item<bool>());
      const Tensor but =
          kernels::to(generate<float>({3, 5000}, [=](int64_t i) { return at(i) ? 0.f : 2.f; }), dtype);
      CHECK(values(kernels::all(but, {1})) == std::vector<double>{1, 0, 1});
      CHECK_FALSE(kernels::all(but).item<bool>());
    }
  }
}

TEST_CASE("a long float32 sum loses far less than naive addition") {
  const Tensor x = empty({int64_t{1} << 24});
  kernels::fill(x, 0.1);
  const double exact = 0x1p24 * static_cast<double>(0.1f);
  CHECK(std::abs(kernels::sum(x).item<float>() / exact - 1) < 3e-7);
  const Tensor tall = x.with_layout(x.layout().view({int64_t{1} << 20, 16}).value());
  for (const double value : values(kernels::sum(tall, {0}))) CHECK(std::abs(value / exact * 16 - 1) < 3e-7);
  const Tensor ones = empty({70000}, float16);
  kernels::fill(ones, 1);
  CHECK(std::abs(kernels::mean(ones).item<float>() - 1) < 1e-6);
}

TEST_CASE("reductions have the same bits for any number of threads") {
  const Tensor x = random_tensor({70, 33, 300}), images = random_tensor({8, 30, 40, 40});
  const Tensor last = kernels::contiguous(images, MemoryFormat::channels_last);
  for (const Shape& dims : dim_lists(3)) CHECK(same_for_all_threads([&] { return kernels::sum(x, dims); }));
  for (const Shape& dims : dim_lists(4))
    CHECK(same_for_all_threads([&] { return kernels::sum(last, dims); }));
  CHECK(same_for_all_threads([&] { return kernels::argmax(x); }));
  CHECK(same_for_all_threads([&] { return kernels::argmax(x, 1); }));
  CHECK(same_for_all_threads([&] { return kernels::prod(images, {0, 1}); }));
}

TEST_CASE("sum_to undoes broadcasting") {
  const Tensor x = random_tensor({4, 3, 5});
  CHECK(kernels::sum_to(x, {4, 3, 5}).is_same(x));
  for (const Shape& shape :
       std::vector<Shape>{{}, {1}, {5}, {3, 1}, {3, 5}, {1, 1, 1}, {4, 1, 5}, {1, 3, 1}}) {
    const Tensor y = kernels::sum_to(x, shape);
    CHECK(y.shape() == shape);
    Shape dims, padded = shape;
    while (padded.dim() < 3) padded.insert(0, 1);
    for (int d = 0; d < 3; ++d) {
      if (padded[d] == 1) dims.push_back(d);
    }
    CHECK(difference(y, reference(x, dims, 0, add)) < 1e-5);
  }
  CHECK(kernels::sum_to(random_tensor({0, 3}), {3}).shape() == Shape{3});
  CHECK(kernels::sum_to(random_tensor({1, 1, 3}), {3}).shape() == Shape{3});
  CHECK(contains(error_of([&] { kernels::sum_to(x, {2, 5}); }), "sum_to"));
  CHECK(contains(error_of([&] { kernels::sum_to(random_tensor({3, 1}), {3, 4}); }), "does not broadcast"));
}
