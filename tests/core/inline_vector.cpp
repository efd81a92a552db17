#include <tern/core/inline_vector.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tern;

namespace {

// Counts the objects that are alive; copying throws when `copies_left` runs out.
struct Counted {
  static inline int alive = 0, copies_left = 1000;
  int value;

  Counted(int number = 0) : value(number) { ++alive; }
  Counted(const Counted& other) : value(other.value) {
    if (copies_left-- <= 0) throw std::runtime_error("no more copies");
    ++alive;
  }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --alive; }
  bool operator==(const Counted& other) const { return value == other.value; }
};

using Numbers = InlineVector<Counted, 3>;

Numbers counted_to(int size) {
  Numbers numbers;
  for (int i = 0; i < size; ++i) numbers.push_back(i);
  return numbers;
}

bool counts_to(const Numbers& numbers, int size) {
  if (numbers.size() != static_cast<size_t>(size)) return false;
  for (int i = 0; i < size; ++i) {
    if (numbers[static_cast<size_t>(i)].value != i) return false;
  }
  return true;
}

bool lies_inside(const Numbers& numbers) {
  const auto* object = reinterpret_cast<const char*>(&numbers);
  const auto* data = reinterpret_cast<const char*>(numbers.begin());
  return data >= object && data < object + sizeof numbers;
}

// Sizes below, at and beyond the inline capacity of 3.
constexpr int sizes[] = {0, 1, 2, 3, 4, 7, 40};

}  // namespace

TEST_CASE("an inline vector grows past its inside and keeps its elements") {
  for (const int size : sizes) {
    CAPTURE(size);
    const Numbers numbers = counted_to(size);
    CHECK(counts_to(numbers, size));
    CHECK(numbers.empty() == (size == 0));
    CHECK(lies_inside(numbers) == (size <= 3));
    CHECK(Counted::alive == size);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("inline vectors are made of lists, counts and ranges") {
  const InlineVector<int, 2> list = {1, 2, 3, 4};
  CHECK(std::vector<int>(list.begin(), list.end()) == std::vector<int>{1, 2, 3, 4});
  const InlineVector<int, 2> count(5, 7);  // two ints are a count and a value, not a range
  CHECK(std::vector<int>(count.begin(), count.end()) == std::vector<int>(5, 7));
  const std::list<int> source = {5, 6, 7};
  const InlineVector<int, 2> range(source.begin(), source.end());
  CHECK(std::vector<int>(range.begin(), range.end()) == std::vector<int>{5, 6, 7});
  const InlineVector<std::string, 2> converted(3, "text");
  CHECK(converted[2] == "text");
  CHECK(InlineVector<int, 2>(0, 1).empty());
}

TEST_CASE("a copy has elements of its own") {
  for (const int size : sizes) {
    CAPTURE(size);
    Numbers source = counted_to(size);
    Numbers copy = source;
    CHECK(Counted::alive == 2 * size);
    for (Counted& number : source) number.value = -5;
    CHECK(counts_to(copy, size));
    for (const int other : sizes) {
      Numbers target = counted_to(other);
      target = copy;
      CHECK(counts_to(target, size));
      CHECK(counts_to(copy, size));
    }
    Numbers& alias = copy;
    copy = alias;
    CHECK(counts_to(copy, size));
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("a move leaves an empty vector that can be filled again") {
  for (const int size : sizes) {
    CAPTURE(size);
    Numbers source = counted_to(size);
    Numbers moved = std::move(source);
    CHECK(counts_to(moved, size));
    CHECK(source.empty());
    CHECK(lies_inside(source));
    CHECK(Counted::alive == size);
    source.push_back(0);
    CHECK(counts_to(source, 1));
    for (const int other : sizes) {
      Numbers target = counted_to(other);
      target = std::move(moved);
      CHECK(counts_to(target, size));
      CHECK(moved.empty());
      moved = std::move(target);
    }
    Numbers& alias = moved;
    moved = std::move(alias);
    CHECK(counts_to(moved, size));
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("elements that cannot be copied are held, grown and moved") {
  InlineVector<std::unique_ptr<int>, 2> owners;
  for (int i = 0; i < 9; ++i) owners.push_back(std::make_unique<int>(i));
  const InlineVector<std::unique_ptr<int>, 2> moved = std::move(owners);
  REQUIRE(moved.size() == 9);
  for (size_t i = 0; i < 9; ++i) CHECK(*moved[i] == static_cast<int>(i));
}

TEST_CASE("iteration goes over the elements in order, and algorithms take it") {
  InlineVector<int, 4> numbers = {3, 1, 2, 5, 4};
  std::sort(numbers.begin(), numbers.end());
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  CHECK(numbers.back() == 5);
  numbers.back() = 6;
  const auto& constant = numbers;
  CHECK(std::accumulate(constant.begin(), constant.end(), 0) == 16);
  int64_t steps = 0;
  for ([[maybe_unused]] const int number : InlineVector<int, 4>()) ++steps;
  CHECK(steps == 0);
}

TEST_CASE("resize makes default elements and drops the last ones") {
  Numbers numbers = counted_to(2);
  numbers.resize(6);
  CHECK(numbers.size() == 6);
  CHECK(numbers[1].value == 1);
  CHECK(numbers[5].value == 0);
  CHECK(Counted::alive == 6);
  numbers.resize(1);
  CHECK(Counted::alive == 1);
  numbers.clear();
  CHECK(numbers.empty());
  CHECK(Counted::alive == 0);
  numbers.push_back(0);
  CHECK(counts_to(numbers, 1));
}

TEST_CASE("reserved room is used without moving elements") {
  Numbers numbers = counted_to(2);
  numbers.reserve(1);
  CHECK(lies_inside(numbers));
  numbers.reserve(50);
  const Counted* first = numbers.begin();
  for (int i = 2; i < 50; ++i) numbers.push_back(i);
  CHECK(numbers.begin() == first);
  CHECK(counts_to(numbers, 50));
}

TEST_CASE("an element of the vector itself may be pushed while it grows") {
  InlineVector<std::string, 2> texts = {"a text too long to lie inside a std::string", "b"};
  for (int i = 0; i < 10; ++i) texts.push_back(texts[0]);
  CHECK(texts.size() == 12);
  CHECK(std::count(texts.begin(), texts.end(), texts[0]) == 11);
}

TEST_CASE("a copy that throws halfway leaves nothing behind") {
  for (const int size : {2, 5}) {
    CAPTURE(size);
    Numbers source = counted_to(size);
    Numbers target = counted_to(1);
    Counted::copies_left = size - 1;
    CHECK_THROWS_AS(Numbers{source}, std::runtime_error);
    CHECK(Counted::alive == size + 1);
    Counted::copies_left = size - 1;
    CHECK_THROWS_AS(target = source, std::runtime_error);
    CHECK(counts_to(target, 1));
    Counted::copies_left = size - 1;
    CHECK_THROWS_AS(Numbers(source.begin(), source.end()), std::runtime_error);
    CHECK(Counted::alive == size + 1);
    Counted::copies_left = 1000;
  }
  CHECK(Counted::alive == 0);
}
