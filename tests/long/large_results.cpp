// Operations whose results have more than 2^31 elements.
#include <tern/autograd/convert.h>
#include <tern/autograd/indexing.h>
#include <tern/autograd/operators.h>
#include <tern/autograd/rearrange.h>
#include <tern/autograd/reductions.h>
#include <tern/autograd/views.h>
#include <tern/core/npy.h>
#include <tern/core/random.h>
#include <tern/core/safetensors.h>
#include <tern/kernels/creation.h>
#include <tern/optim/sgd.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/long/large.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

using namespace tern;
using namespace tern::tests;

namespace {

using Place = std::function<int64_t(int64_t)>;
using Value = std::function<double(int64_t)>;

int64_t same_place(int64_t place) { return place; }

// y holds value(mark) at where(place) for each mark, and value(0) beside them.
void check_marks(const Tensor& y, const Value& value, const Place& where = same_place) {
  for (const Mark& mark : marks) {
    CAPTURE(mark.place);
    CHECK(value_at(y, where(mark.place)) == value(mark.value));
  }
  for (const int64_t place : {int64_t{12345}, boundary - 7, boundary + 2}) {
    CAPTURE(place);
    CHECK(value_at(y, where(place)) == value(0));
  }
}

double identity(int64_t value) { return static_cast<double>(value); }

}  // namespace

TEST_CASE("element by element, more than 2^31 of them") {
  const EmptyCache at_end;
  const Tensor x = marked(), square = view(x, {2, half_size});
  check_marks(clone(x), identity);
  check_marks(x + 3, [](int64_t v) { return v + 3; });
  check_marks(square * tensor({{true}, {true}}), identity);
  check_marks(x == 3, [](int64_t v) { return v == 3; });
  check_marks(to(x, boolean), [](int64_t v) { return v != 0; });
  check_marks(logical_not(x), [](int64_t v) { return v == 0; });
  check_marks(-x, [](int64_t v) { return (256 - v) % 256; });
  check_marks(clamp(x, 2, 4), [](int64_t v) { return v < 2 ? 2 : v > 4 ? 4 : v; });
  check_marks(maximum(square, full({2, 1}, 3, uint8)), [](int64_t v) { return v < 3 ? 3 : v; });
  check_marks(where(to(x, boolean), full({1}, 9, uint8), x), [](int64_t v) { return v ? 9 : 0; });
  check_marks(masked_fill(x, tensor({false}), 9), identity);
  check_marks(full({large_size}, 7, uint8), [](int64_t) { return 7; });
}

TEST_CASE("in place, more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = marked();
  x += 1, x *= 2;
  check_marks(x, [](int64_t v) { return 2 * (v + 1); });
  copy_(x, marked());
  check_marks(x, identity);
  CHECK(equal(x, marked()));
}

TEST_CASE("rows and columns that broadcast to more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor column = unsqueeze(to(arange(65536), uint8), 1);
  for (const int64_t width : {32767, 32769}) {
    const Tensor y = column + 2 * to(arange(width), uint8);
    for (const int64_t row : {0, 1, 65533, 65534, 65535}) {
      for (const int64_t j : {int64_t{0}, int64_t{2}, width - 3, width - 1})
        CHECK(value_at(y, row * width + j) == (row + 2 * j) % 256);
    }
  }
}

TEST_CASE("in other places, more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = marked(), square = view(x, {2, half_size});
  check_marks(flip(x, {0}), identity, [](int64_t p) { return large_size - 1 - p; });
  check_marks(roll(x, {5}, {0}), identity, [](int64_t p) { return (p + 5) % large_size; });
  check_marks(pad(x, {3, 2}), identity, [](int64_t p) { return p + 3; });
  check_marks(cat({narrow(x, 0, 0, boundary + 1), narrow(x, 0, boundary + 1, 5)}), identity);
  check_marks(cat({narrow(square, 1, 0, 7), narrow(square, 1, 7, half_size - 7)}, 1), identity);
  check_marks(stack({select(square, 0, 0), select(square, 0, 1)}), identity);
  check_marks(contiguous(t(square)), identity, [](int64_t p) { return p % half_size * 2 + p / half_size; });
  check_marks(contiguous(t(contiguous(t(square)))), identity);
}

TEST_CASE("repeated to more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = sparse_zeros({half_size}, uint8);
  fill_(select(x, 0, -1), 5), fill_(select(x, 0, 1), 3);
  const Tensor twice = repeat(x, {2}), doubled = repeat_interleave(x, 2);
  for (const int64_t start : {int64_t{0}, half_size}) {
    CHECK(value_at(twice, start + 1) == 3);
    CHECK(value_at(twice, start + half_size - 1) == 5);
    CHECK(value_at(twice, start + half_size - 2) == 0);
  }
  CHECK(value_at(doubled, large_size - 1) == 5);
  CHECK(value_at(doubled, large_size - 2) == 5);
  CHECK(value_at(doubled, large_size - 3) == 0);
}

TEST_CASE("a triangle of more than 2^31 elements") {
  const EmptyCache at_end;
  constexpr int64_t rows = 46342, columns = 46342;
  const Tensor y = tril(expand(full({1, 1}, 1, uint8), {rows, columns}));
  for (const int64_t row : {int64_t{0}, int64_t{5}, boundary / columns, rows - 1}) {
    CHECK(value_at(y, row * columns + row) == 1);
    CHECK(value_at(y, row * columns) == 1);
    if (row + 1 < columns) CHECK(value_at(y, row * columns + row + 1) == 0);
    if (row + 1 < columns) CHECK(value_at(y, row * columns + columns - 1) == 0);
  }
}

TEST_CASE("written by positions beyond 2^31") {
  const EmptyCache at_end;
  const Tensor x = marked(), positions = tensor({large_size - 1, boundary + 2, int64_t{3}});
  const Tensor values = full({3}, 7, uint8);
  const auto check_result = [&](const Tensor& y, double last) {
    CHECK(value_at(y, large_size - 1) == last);
    CHECK(value_at(y, boundary + 2) == 7);
    CHECK(value_at(y, 3) == 7);
    CHECK(value_at(y, boundary + 1) == 4);
    CHECK(value_at(y, 2) == 0);
  };
  check_result(scatter(x, 0, positions, values), 7);
  check_result(scatter_add(x, 0, positions, values), 12);
  check_result(index_add(x, 0, positions, values), 12);
}

TEST_CASE("more than 2^31 random numbers do not begin anew") {
  const EmptyCache at_end;
  manual_seed(5);
  const Tensor x = randint(0, 256, {large_size}, uint8);
  const auto part = [&](int64_t start, int64_t count) { return narrow(x, 0, start, count); };
  const Tensor last = part(large_size - 4096, 4096);
  CHECK_FALSE(equal(last, part(0, 4096)));
  CHECK_FALSE(equal(part(boundary, 6), part(0, 6)));
  CHECK_FALSE(equal(part(boundary, 6), part(boundary / 2, 6)));
  CHECK(mean(to(last, float32)).item<float>() == doctest::Approx(127.5).epsilon(0.05));
  manual_seed(5);
  CHECK(equal(randint(0, 256, {4096}, uint8), part(0, 4096)));
}

TEST_CASE("an optimizer steps more than 2^31 elements") {
  const EmptyCache at_end;
  const Tensor x = sparse_zeros({large_size}, float16).requires_grad_();
  x.set_grad(marked(float16));
  optim::SGD({x}, {.lr = 0.5}).step();
  check_marks(x.detach(), [](int64_t v) { return -0.5 * static_cast<double>(v); });
}

TEST_CASE("files of more than 2^31 bytes") {
  const EmptyCache at_end;
  const TemporaryFolder folder;
  const Tensor x = marked(), tail = full({2}, 1.5);
  save_safetensors(folder.file("large"), {{"tail", tail}, {"x", x}});
  {
    const Safetensors loaded = load_safetensors(folder.file("large"));
    check_marks(loaded.tensors.at("x"), identity);
    CHECK(equal(loaded.tensors.at("tail"), tail));
  }
  save_npy(folder.file("large.npy"), x);
  check_marks(load_npy(folder.file("large.npy")), identity);
}
