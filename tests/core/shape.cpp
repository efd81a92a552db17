#include <tern/core/shape.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("a shape holds at most eight sizes") {
  Shape shape = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(shape.dim() == 8);
  CHECK(printed(shape) == "[1, 2, 3, 4, 5, 6, 7, 8]");
  CHECK(contains(error_of([&] { shape.push_back(9); }), "[1, 2, 3, 4, 5, 6, 7, 8] cannot take one more"));
  CHECK(contains(error_of([] { Shape(std::vector<int64_t>(9, 1)); }), "at most 8 dimensions, got 9"));
}

TEST_CASE("sizes are inserted, erased and compared") {
  Shape shape = {2, 4};
  shape.insert(1, 3);
  CHECK(shape == Shape{2, 3, 4});
  shape.insert(0, 1);
  shape.insert(4, 5);
  CHECK(shape == Shape{1, 2, 3, 4, 5});
  shape.erase(0);
  shape.erase(3);
  CHECK(shape == Shape{2, 3, 4});
  CHECK(shape != Shape{2, 3});
  CHECK(shape.back() == 4);
  CHECK(Shape::filled(3, 7) == Shape{7, 7, 7});
  CHECK(printed(Shape{}) == "[]");
}

TEST_CASE("the number of elements is exact or an error") {
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{3, 0, 5}.numel() == 0);
  CHECK(Shape{INT64_MAX}.numel() == INT64_MAX);
  CHECK(Shape{INT64_MAX, 1}.numel() == INT64_MAX);
  const int64_t large = int64_t{1} << 32;
  CHECK(contains(error_of([&] {
                   Shape({large, large}).numel();
                 }),
                 "shape [4294967296, 4294967296] has more than 2^63 - 1 elements"));
  CHECK(contains(error_of([&] { Shape({large, large / 2}).numel(); }), "has more than 2^63 - 1 elements"));
  CHECK(Shape{large, large, 0}.numel() == 0);
  CHECK(contains(error_of([] { Shape({2, -1}).numel(); }), "a size is negative in shape [2, -1]"));
  CHECK(contains(error_of([] { Shape({0, -1}).numel(); }), "a size is negative"));
}

TEST_CASE("dimensions count from the front or the back") {
  CHECK(normalize_dim(0, 3, "sum") == 0);
  CHECK(normalize_dim(-1, 3, "sum") == 2);
  CHECK(normalize_dim(-3, 3, "sum") == 0);
  CHECK(normalize_dim(-1, 0, "sum") == 0);
  CHECK(contains(error_of([] { normalize_dim(3, 3, "sum"); }), "sum: dim must be from -3 to 2, got 3"));
  CHECK(contains(error_of([] { normalize_dim(-4, 3, "sum"); }), "sum: dim must be from -3 to 2, got -4"));
}

TEST_CASE("shapes broadcast as in NumPy") {
  CHECK(broadcast_shapes({2, 3}, {3}, "add") == Shape{2, 3});
  CHECK(broadcast_shapes({3}, {2, 3}, "add") == Shape{2, 3});
  CHECK(broadcast_shapes({2, 1}, {1, 3}, "add") == Shape{2, 3});
  CHECK(broadcast_shapes({}, {4, 5}, "add") == Shape{4, 5});
  CHECK(broadcast_shapes({}, {}, "add") == Shape{});
  CHECK(broadcast_shapes({1}, {0}, "add") == Shape{0});
  CHECK(broadcast_shapes({0, 1}, {1, 7}, "add") == Shape{0, 7});
  CHECK(contains(error_of([] {
                   broadcast_shapes({2, 3}, {2}, "add");
                 }),
                 "add: shapes [2, 3] and [2] do not broadcast"));
  CHECK(contains(error_of([] { broadcast_shapes({2}, {0}, "add"); }), "add: shapes [2] and [0]"));
}
