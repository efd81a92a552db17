#include <tern/autograd/backward.h>
#include <tern/autograd/operators.h>
#include <tern/core/allocator.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <array>

using namespace tern;
using namespace tern::tests;

TEST_CASE("an undefined tensor answers nothing but that it is undefined") {
  const Tensor none, defined = counted<float>({2});
  CHECK_FALSE(none.defined());
  CHECK(none.is_same(Tensor()));
  CHECK_FALSE(none.is_same(defined));
  CHECK(printed(none) == "tensor(undefined)");
  const std::vector<std::function<void()>> questions = {
      [&] { none.shape(); },
      [&] { none.strides(); },
      [&] { none.layout(); },
      [&] { none.size(0); },
      [&] { none.stride(0); },
      [&] { none.dim(); },
      [&] { none.numel(); },
      [&] { none.dtype(); },
      [&] { none.device(); },
      [&] { none.is_contiguous(); },
      [&] { none.is_channels_last(); },
      [&] { none.data(); },
      [&] { none.data<float>(); },
      [&] { none.storage(); },
      [&] { none.version(); },
      [&] { none.bump_version(); },
      [&] { none.item<float>(); },
      [&] { none.detach(); },
      [&] { none.with_layout(Layout()); },
      [&] { none.set_data(defined); },
      [&] { defined.set_data(none); },
      [&] { none.requires_grad(); },
      [&] { none.requires_grad_(); },
      [&] { none.requires_grad_(false); },
      [&] { none.is_leaf(); },
      [&] { none.grad(); },
      [&] { none.set_grad(defined); },
      [&] { none.set_grad(none); },
      [&] { empty_like(none); },
  };
  for (size_t i = 0; i < questions.size(); ++i) {
    CAPTURE(i);
    CHECK(contains(error_of(questions[i]), "the tensor is undefined"));
  }
  CHECK(defined.numel() == 2);
}

TEST_CASE("data of another type than the elements' is an error that names both") {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    CAPTURE(dtype);
    const Tensor x = empty({3}, dtype);
    CHECK(x.data());
    dispatch(dtype, [&]<class T>() { CHECK(x.data<T>() == x.data()); });
    if (dtype != float32) CHECK_THROWS_AS(x.data<float>(), Error);
    if (dtype != int64) CHECK_THROWS_AS(x.data<int64_t>(), Error);
    if (dtype != float16) CHECK_THROWS_AS(x.data<Half>(), Error);
  }
  CHECK(contains(error_of([] { empty({3}, int32).data<float>(); }),
                 "data: the tensor holds int32, not float32"));
}

TEST_CASE("item converts the one element of a tensor of any shape") {
  CHECK(make<float>({}, {2.75F}).item<float>() == 2.75F);
  CHECK(make<float>({1, 1, 1}, {2.75F}).item<int64_t>() == 2);
  CHECK(make<double>({1}, {0.5}).item<bool>());
  CHECK(make<int64_t>({}, {-7}).item<double>() == -7);
  CHECK(make<int64_t>({}, {INT64_MAX}).item<int64_t>() == INT64_MAX);
  CHECK(make<Half>({}, {Half(1.5F)}).item<float>() == 1.5F);
  CHECK(make<BFloat16>({}, {BFloat16(-2.0F)}).item<int32_t>() == -2);
  CHECK(make<uint8_t>({}, {200}).item<uint8_t>() == 200);
  CHECK(make<bool>({}, {true}).item<float>() == 1);
  const Tensor x = counted<float>({2, 3});
  CHECK(Tensor(x.storage(), Layout({}, {}, 4), float32).item<float>() == 4);
}

TEST_CASE("item of no or several elements is an error that names the shape") {
  CHECK(contains(error_of([] {
                   empty({2, 3}).item<float>();
                 }),
                 "item: needs a tensor with one element, got shape [2, 3]"));
  CHECK(contains(error_of([] { empty({1, 0}).item<float>(); }), "got shape [1, 0]"));
}

TEST_CASE("sizes and strides are asked for from the front or the back") {
  const Tensor x = empty({2, 3, 4});
  CHECK(x.size(0) == 2);
  CHECK(x.size(-1) == 4);
  CHECK(x.stride(0) == 12);
  CHECK(x.stride(-2) == 4);
  CHECK_THROWS_AS(x.size(3), Error);
  CHECK_THROWS_AS(x.stride(-4), Error);
  CHECK(contains(error_of([] { empty({}).size(0); }), "a tensor without dimensions has no dimension 0"));
  CHECK_THROWS_AS(empty({}).stride(-1), Error);
}

TEST_CASE("copies of a handle share, set_data is seen through all of them") {
  const Tensor x = counted<float>({4}), same = x;
  x.requires_grad_();
  x.set_grad(make<float>({4}, {1, 1, 1, 1}));
  const Tensor other = counted<double>({2, 3});
  x.set_data(other);
  CHECK(same.is_same(x));
  CHECK(same.shape() == Shape{2, 3});
  CHECK(same.dtype() == float64);
  CHECK(same.data() == other.data());
  CHECK(same.requires_grad());
  CHECK(same.grad().numel() == 4);
  CHECK_FALSE(other.requires_grad());
  CHECK_FALSE(same.is_same(other));
}

TEST_CASE("set_data refuses results of operations, and integers where a gradient is asked for") {
  const Tensor x = counted<float>({2}).requires_grad_();
  const Tensor y = x + x;
  CHECK(contains(error_of([&] { y.set_data(x); }), "set_data: the tensor is the result of an operation"));
  CHECK(contains(error_of([&] { x.set_data(empty({2}, int32)); }), "the new data are int32"));
  CHECK(x.dtype() == float32);
  const Tensor plain = counted<float>({2});
  plain.set_data(counted<int32_t>({3}));
  CHECK(plain.dtype() == int32);
}

TEST_CASE("detach shares values and versions, and leaves the past behind") {
  const Tensor x = counted<float>({3}).requires_grad_();
  const Tensor y = x + x;
  const Tensor cut = y.detach();
  CHECK_FALSE(cut.is_same(y));
  CHECK_FALSE(cut.requires_grad());
  CHECK(cut.is_leaf());
  CHECK_FALSE(y.is_leaf());
  CHECK(cut.data() == y.data());
  cut.data<float>()[1] = 50;
  cut.bump_version();
  CHECK(y.data<float>()[1] == 50);
  CHECK(y.version() == cut.version());
  CHECK(y.version() == 1);
  x.set_grad(counted<float>({3}));
  CHECK_FALSE(x.detach().grad().defined());
}

TEST_CASE("only floating-point tensors ask for a gradient") {
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    const Tensor x = empty({2}, dtype);
    CHECK_FALSE(x.requires_grad());
    CHECK(x.requires_grad_().is_same(x));
    CHECK(x.requires_grad());
    CHECK_FALSE(x.requires_grad_(false).requires_grad());
  }
  for (const DType dtype : {int64, int32, uint8, boolean}) {
    const Tensor x = empty({2}, dtype);
    const std::string error = error_of([&] { x.requires_grad_(); });
    CHECK(contains(error, "requires_grad_: only floating-point tensors have gradients, this one is "));
    CHECK(contains(error, std::string(name(dtype))));
    CHECK_FALSE(x.requires_grad_(false).requires_grad());
  }
  const Tensor y = counted<float>({2}).requires_grad_() * 2;
  CHECK(contains(error_of([&] { y.requires_grad_(false); }), "the result of an operation; detach() it"));
}

TEST_CASE("a gradient has the tensor's shape") {
  const Tensor x = counted<float>({2, 3});
  CHECK(contains(error_of([&] { x.set_grad(counted<float>({3})); }),
                 "the gradient has shape [3], the tensor [2, 3]"));
  x.set_grad(counted<float>({2, 3}));
  CHECK(x.grad().numel() == 6);
  x.set_grad({});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("shapes too large for any memory are errors and take none") {
  const int64_t before = memory_statistics().allocated, large = int64_t{1} << 32;
  CHECK(contains(error_of([&] { empty({large, large}); }), "has more than 2^63 - 1 elements"));
  CHECK(contains(error_of([] { empty({INT64_MAX, 2}); }), "has more than 2^63 - 1 elements"));
  CHECK(contains(error_of([] { empty({INT64_MAX}); }), "of float32 has more than 2^63 - 1 bytes"));
  CHECK(contains(error_of([&] { empty({large, large / 4}, float64); }), "has more than 2^63 - 1 bytes"));
  CHECK(contains(error_of([] { empty({INT64_MAX}, uint8); }), "out of memory"));
  CHECK(contains(error_of([] { empty({3, -1}); }), "a size is negative in shape [3, -1]"));
  CHECK_THROWS_AS(empty({large, large, 1, 1}, float32, {}, MemoryFormat::channels_last), Error);
  CHECK(memory_statistics().allocated == before);
  CHECK(empty({large, large, 0}).numel() == 0);
}

TEST_CASE("a layout that leads outside its storage is an error") {
  const Ref<Storage> storage = empty({2, 3}).storage();
  const auto refused = [&](const Layout& layout) {
    return contains(error_of([&] { Tensor(storage, layout, float32); }),
                    "reaches outside a storage of 6 elements");
  };
  CHECK(Tensor(storage, Layout({2, 2}, {3, 2}), float32).numel() == 4);
  CHECK(Tensor(storage, Layout({0}, {1}, 6), float32).numel() == 0);
  CHECK(Tensor(storage, Layout({1, 6}, {INT64_MAX, 1}), float32).numel() == 6);
  CHECK(refused(Layout({7}, {1})));
  CHECK(refused(Layout({6}, {1}, 1)));
  CHECK(refused(Layout({1}, {1}, -1)));
  CHECK(refused(Layout({0}, {1}, 7)));
  CHECK(refused(Layout({2}, {-1})));
  CHECK(refused(Layout({2, 3}, {3})));
  const int64_t half = int64_t{1} << 62;
  CHECK(refused(Layout({3}, {half})));
  CHECK(refused(Layout({3, 3}, {half, half})));
  CHECK(refused(Layout({2, 2}, {INT64_MAX, 1})));
  CHECK_THROWS_AS(Tensor(storage, Layout({4}, {1}), float64), Error);
  CHECK(contains(error_of([] { Tensor(Ref<Storage>(), Layout(), float32); }), "there is no storage"));
  CHECK(contains(error_of([] {
                   empty_strided({2, 3}, {6, 1}, float32, {});
                 }),
                 "reach outside the 6 elements"));
}

TEST_CASE("memory of somebody else is released with the last tensor") {
  std::array<float, 6> values = {0, 1, 2, 3, 4, 5};
  int released = 0;
  {
    Tensor x(make_ref<Storage>(values.data(), sizeof values, Device(), [&] { ++released; }), Layout({2, 3}),
             float32);
    const Tensor row = x.with_layout(x.layout().select(0, 1));
    x = Tensor();
    CHECK(row.data<float>() == values.data() + 3);
    CHECK(released == 0);
  }
  CHECK(released == 1);
}

TEST_CASE("empty_like keeps shape and order of dimensions") {
  const Tensor x = empty({2, 3, 4, 5}, float32, {}, MemoryFormat::channels_last);
  CHECK(x.is_channels_last());
  CHECK_FALSE(x.is_contiguous());
  CHECK(empty_like(x).strides() == x.strides());
  CHECK(empty_like(x, int32).dtype() == int32);
  CHECK(empty_like(x).data() != x.data());
  CHECK(contains(error_of([] { empty({2, 3}, float32, {}, MemoryFormat::channels_last); }), "channels_last"));
}
