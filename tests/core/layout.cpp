// Views are compared with index arithmetic on lists of places.
#include <tern/core/layout.h>
#include <tern/core/random.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace tern;
using namespace tern::tests;

namespace {

int64_t place(const Layout& layout, const Shape& index) {
  int64_t result = layout.offset;
  for (int i = 0; i < layout.dim(); ++i) result += index[i] * layout.strides[i];
  return result;
}

template <class Visit>
void for_each_index(const Shape& shape, const Visit& visit) {
  Shape index = Shape::filled(shape.dim(), 0);
  for (int64_t i = 0, count = shape.numel(); i < count; ++i) {
    visit(index);
    for (int dim = shape.dim() - 1; dim >= 0; --dim) {
      if (++index[dim] < shape[dim]) break;
      index[dim] = 0;
    }
  }
}

// The storage places of all elements in row-major order.
std::vector<int64_t> places(const Layout& layout) {
  std::vector<int64_t> result;
  for_each_index(layout.shape, [&](const Shape& index) { result.push_back(place(layout, index)); });
  return result;
}

bool are_consecutive(const std::vector<int64_t>& list, int64_t first) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != first + static_cast<int64_t>(i)) return false;
  return true;
}

int64_t draw(PhiloxStream& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1)));
}

// A view of a view … of a dense tensor.
Layout random_layout(PhiloxStream& random) {
  Shape shape;
  for (int64_t dims = draw(random, 0, 4); dims > 0; --dims)
    shape.push_back(draw(random, random.below(12) ? 1 : 0, 4));
  Layout layout(shape);
  for (int64_t steps = draw(random, 0, 3); steps > 0 && layout.dim() > 0; --steps) {
    const int64_t dim = draw(random, 0, layout.dim() - 1), size = layout.shape[dim];
    switch (random.below(5)) {
      case 0:
        layout = layout.transpose(dim, draw(random, 0, layout.dim() - 1));
        break;
      case 1:
        layout = layout.slice(dim, draw(random, 0, size), draw(random, 0, size), draw(random, 1, 3));
        break;
      case 2:
        if (size > 0) layout = layout.select(dim, draw(random, -size, size - 1));
        break;
      case 3:
        if (layout.dim() < 5) layout = layout.unsqueeze(dim);
        break;
      default:
        Shape target = layout.shape;
        if (size == 1) target[dim] = draw(random, 0, 3);
        layout = layout.expand(target);
    }
  }
  return layout;
}

std::string text_of(const Layout& layout) {
  return printed(layout.shape) + " strides " + printed(layout.strides) + " offset " + printed(layout.offset);
}

// A shape of `numel` elements: its factors in random groups, with ones in between.
Shape random_shape(PhiloxStream& random, int64_t numel) {
  Shape shape;
  if (numel == 0) return {2, 0, 3};
  while (shape.dim() < 6 && (numel > 1 || random.below(3) == 0)) {
    int64_t size = draw(random, 1, std::min<int64_t>(numel, 12));
    while (numel % size) --size;
    shape.push_back(size);
    numel /= size;
  }
  shape.push_back(numel);
  return shape;
}

// Whether any strides give these places in row-major order as `shape`.
bool strides_exist(const std::vector<int64_t>& list, const Shape& shape) {
  if (list.empty()) return true;
  const Strides dense = dense_strides(shape);
  Layout guess(shape, Shape::filled(shape.dim(), 0), list[0]);
  for (int i = 0; i < shape.dim(); ++i)
    if (shape[i] > 1) guess.strides[i] = list[static_cast<size_t>(dense[i])] - list[0];
  return places(guess) == list;
}

constexpr int repetitions = 5000;

}  // namespace

TEST_CASE("what a layout says of itself is what its places show") {
  PhiloxStream random(1, 1);
  int dense = 0, contiguous = 0, overlapping = 0;
  for (int i = 0; i < repetitions; ++i) {
    const Layout layout = random_layout(random);
    const std::string text = text_of(layout);
    CAPTURE(text);
    std::vector<int64_t> all = places(layout);
    CHECK(layout.numel() == static_cast<int64_t>(all.size()));
    CHECK(layout.is_contiguous() == are_consecutive(all, layout.offset));
    contiguous += layout.is_contiguous();
    std::sort(all.begin(), all.end());
    CHECK(layout.is_dense() == are_consecutive(all, layout.offset));
    dense += layout.is_dense();
    const bool repeats = std::adjacent_find(all.begin(), all.end()) != all.end();
    CHECK(layout.overlaps_itself() == repeats);
    overlapping += repeats;
    CHECK(layout.end() == (all.empty() ? layout.offset : all.back() + 1));
    const bool keeps = layout.is_dense() && !all.empty();
    CHECK(layout.strides_like() == (keeps ? layout.strides : dense_strides(layout.shape)));
  }
  CHECK(std::min({contiguous, dense - contiguous, overlapping, repetitions - dense}) > 100);
}

TEST_CASE("permuting and transposing move the index") {
  PhiloxStream random(2, 1);
  for (int i = 0; i < repetitions; ++i) {
    const Layout layout = random_layout(random);
    Shape dims;
    for (int64_t d = 0; d < layout.dim(); ++d) dims.insert(draw(random, 0, dims.dim()), d);
    const Layout permuted = layout.permute(dims);
    bool equal = true;
    for_each_index(permuted.shape, [&](const Shape& index) {
      Shape original = index;
      for (int d = 0; d < index.dim(); ++d) original[dims[d]] = index[d];
      equal &= place(permuted, index) == place(layout, original);
    });
    CHECK(equal);
  }
  const Layout layout(Shape{2, 3, 4});
  CHECK(layout.transpose(0, -1).strides == layout.permute({2, 1, 0}).strides);
  CHECK(contains(error_of([&] {
                   layout.permute({0, 1});
                 }),
                 "permute: [0, 1] does not list the 3 dimensions"));
  CHECK(contains(error_of([&] { layout.permute({0, 1, -2}); }), "permute: dimension 1 is repeated"));
  CHECK(contains(error_of([&] { layout.transpose(0, 3); }), "transpose: dim must be from -3 to 2, got 3"));
}

TEST_CASE("slices take the elements that NumPy takes") {
  const Layout layout(Shape{2, 7});
  for (int64_t start = -10; start <= 10; ++start) {
    for (int64_t stop = -10; stop <= 10; ++stop) {
      for (const int64_t step : {1, 2, 3, 10}) {
        const int64_t first = std::clamp<int64_t>(start < 0 ? start + 7 : start, 0, 7);
        const int64_t end = std::clamp<int64_t>(stop < 0 ? stop + 7 : stop, 0, 7);
        std::vector<int64_t> expected;
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t i = first; i < end; i += step) expected.push_back(row * 7 + i);
        CHECK(places(layout.slice(1, start, stop, step)) == expected);
      }
    }
  }
}

TEST_CASE("slices with extreme bounds and steps neither overflow nor leave the storage") {
  const Layout layout = Layout(Shape{2, 3}).transpose(0, 1).select(0, 1);
  CHECK(places(layout.slice(0, INT64_MIN, INT64_MAX, 1)) == std::vector<int64_t>{1, 4});
  CHECK(places(layout.slice(0, 0, INT64_MAX, INT64_MAX)) == std::vector<int64_t>{1});
  CHECK(layout.slice(0, 2, 2, 1).end() <= 6);
  const Layout endless = Layout(Shape{1}).expand({INT64_MAX});
  CHECK(places(endless.slice(0, 0, INT64_MAX, INT64_MAX)) == std::vector<int64_t>{0});
  CHECK(endless.slice(0, 1, INT64_MAX, INT64_MAX - 1).shape == Shape{1});
  CHECK(endless.slice(0, 0, INT64_MAX, int64_t{1} << 62).shape == Shape{2});
  CHECK(contains(error_of([&] { layout.slice(0, 0, 1, 0); }), "slice: step must be at least 1, got 0"));
  CHECK(contains(error_of([] { Layout().slice(0, 0, 1, 1); }), "without dimensions cannot be sliced"));
}

TEST_CASE("selecting takes one index away") {
  const Layout layout(Shape{2, 3, 4});
  CHECK(places(layout.select(1, -1)) == std::vector<int64_t>{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(layout.select(1, 2).shape == Shape{2, 4});
  CHECK(contains(error_of([&] { layout.select(1, 3); }),
                 "select: index 3 is outside dimension 1 of shape [2, 3, 4]"));
  CHECK(contains(error_of([&] { layout.select(1, -4); }), "select: index -4"));
  CHECK(contains(error_of([] { Layout().select(0, 0); }), "without dimensions cannot be indexed"));
}

TEST_CASE("dimensions of size one come and go without moving an element") {
  PhiloxStream random(3, 1);
  for (int i = 0; i < repetitions; ++i) {
    const Layout layout = random_layout(random);
    const int64_t dim = draw(random, 0, layout.dim());
    const Layout longer = layout.unsqueeze(dim);
    CHECK(longer.shape[dim] == 1);
    CHECK(places(longer) == places(layout));
    CHECK(places(longer.squeeze(dim)) == places(layout));
    CHECK(longer.squeeze(dim).strides == layout.strides);
    CHECK(longer.is_contiguous() == layout.is_contiguous());
  }
  CHECK(Layout(Shape{2}).squeeze(0).shape == Shape{2});
  CHECK(Layout().squeeze(-1).shape == Shape{});
  CHECK(Layout(Shape{2}).unsqueeze(-1).shape == Shape{2, 1});
  CHECK(contains(error_of([] { Layout(Shape{2}).unsqueeze(2); }), "unsqueeze: dim must be from -2 to 1"));
}

TEST_CASE("expanding repeats what has size one") {
  const Layout layout = Layout(Shape{3, 1}).expand({2, -1, 4});
  CHECK(layout.shape == Shape{2, 3, 4});
  for_each_index(layout.shape, [&](const Shape& index) { CHECK(place(layout, index) == index[1]); });
  CHECK(Layout().expand({2, 2}).shape == Shape{2, 2});
  CHECK(Layout(Shape{1}).expand({0}).numel() == 0);
  CHECK(contains(error_of([] { Layout(Shape{3}).expand({2}); }), "expand: [3] does not expand to [2]"));
  CHECK(contains(error_of([] { Layout(Shape{3}).expand({-1, 3}); }), "does not expand to [-1, 3]"));
  CHECK(contains(error_of([] { Layout(Shape{3, 1}).expand({3}); }), "has more dimensions than [3]"));
}

TEST_CASE("a view exists exactly where strides for it exist, and keeps the order of the elements") {
  PhiloxStream random(4, 1);
  int found = 0, missing = 0;
  for (int i = 0; i < 5 * repetitions; ++i) {
    const Layout layout = random_layout(random);
    const Shape target = random_shape(random, layout.numel());
    const std::string text = text_of(layout) + " as " + printed(target);
    CAPTURE(text);
    const std::vector<int64_t> all = places(layout);
    const std::optional<Layout> view = layout.view(target);
    CHECK(view.has_value() == strides_exist(all, target));
    ++(view ? found : missing);
    if (!view) continue;
    CHECK(view->shape == target);
    CHECK(places(*view) == all);
  }
  CHECK(std::min(found, missing) > 500);
}

TEST_CASE("a view of an empty tensor may have any empty shape") {
  CHECK(Layout(Shape{0, 3}).view({5, 0})->shape == Shape{5, 0});
  CHECK(Layout(Shape{2, 3}).slice(1, 3, 3, 1).view({0})->numel() == 0);
}

TEST_CASE("minus one stands for the size that is missing") {
  CHECK(infer_shape({2, -1}, 6, "view") == Shape{2, 3});
  CHECK(infer_shape({-1}, 1, "view") == Shape{1});
  CHECK(infer_shape({-1, 4}, 0, "view") == Shape{0, 4});
  CHECK(infer_shape({6}, 6, "view") == Shape{6});
  CHECK(contains(error_of([] { infer_shape({4, -1}, 6, "view"); }), "view: 6 elements do not fill [4, -1]"));
  CHECK(contains(error_of([] { infer_shape({4}, 6, "view"); }), "view: 6 elements do not fill [4]"));
  CHECK(contains(error_of([] { infer_shape({0, -1}, 0, "view"); }), "view: 0 elements do not fill [0, -1]"));
  CHECK(contains(error_of([] { infer_shape({-1, -1}, 4, "view"); }), "view: only one size may be -1"));
  CHECK(contains(error_of([] { infer_shape({-2}, 4, "view"); }), "view: a size is negative in [-2]"));
  const int64_t large = int64_t{1} << 32;
  CHECK(contains(error_of([&] {
                   infer_shape({large, large, -1}, 6, "view");
                 }),
                 "more than 2^63 - 1 elements"));
}

TEST_CASE("channels-last images lie as N, H, W, C") {
  const Layout layout({2, 3, 4, 5}, MemoryFormat::channels_last);
  CHECK(layout.strides == Strides{60, 1, 15, 3});
  CHECK(are_consecutive(places(layout.permute({0, 2, 3, 1})), 0));
  CHECK(layout.is_channels_last());
  CHECK(!layout.is_contiguous());
  CHECK(layout.is_dense());
  CHECK(layout.strides_like() == layout.strides);
  CHECK(!Layout(Shape{2, 3, 4, 5}).is_channels_last());
  CHECK(!Layout(Shape{2, 3, 4}).is_channels_last());
  CHECK(contains(error_of([] {
                   Layout({2, 3}, MemoryFormat::channels_last);
                 }),
                 "channels_last: needs 4 dimensions [N, C, H, W], got [2, 3]"));
}

TEST_CASE("images that lie alike in both orders count as both") {
  for (const Shape& shape : {Shape{2, 1, 4, 5}, Shape{2, 3, 1, 1}, Shape{0, 3, 4, 5}, Shape{2, 3, 0, 5}}) {
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      CHECK(Layout(shape, format).is_contiguous());
      CHECK(Layout(shape, format).is_channels_last());
    }
  }
}

TEST_CASE("an empty tensor may have sizes whose product would overflow") {
  const int64_t large = int64_t{1} << 40;
  CHECK(Layout(Shape{large, large, 0}).numel() == 0);
  CHECK(Layout(Shape{0, large, large}).is_contiguous());
  // The strides and offsets of views mean nothing, but making them must not overflow.
  const Layout layout(Shape{3, large, large, 0});
  CHECK(layout.select(0, 2).numel() == 0);
  CHECK(layout.select(1, large - 1).select(1, large - 1).numel() == 0);
  CHECK(layout.slice(1, 5, large, large / 2).shape == Shape{3, 2, large, 0});
  CHECK(layout.slice(2, large - 1, large, 1).numel() == 0);
  CHECK(layout.unsqueeze(0).unsqueeze(2).numel() == 0);
  CHECK(layout.transpose(0, 2).permute({1, 2, 3, 0}).select(0, large - 1).numel() == 0);
}
