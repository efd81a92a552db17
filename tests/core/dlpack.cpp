#include <tern/core/dlpack.h>
#include <tern/tests/core/make_tensor.h>

#include <dlpack/dlpack.h>
#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

namespace {

int released = 0;

// A structure of somebody else over `values`, with a deleter that counts.
struct Foreign {
  float values[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  DLManagedTensor managed{{values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                          nullptr,
                          [](DLManagedTensor*) { ++released; }};
};

}  // namespace

TEST_CASE("a tensor comes back from DLPack as it was: the same memory, shape and strides") {
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, int32, uint8, boolean}) {
    const Tensor x = empty({3, 4}, dtype);
    const Tensor view = x.with_layout(x.layout().transpose(0, 1).slice(0, 1, 4, 2));
    const Tensor back = from_dlpack(to_dlpack(view));
    CHECK(back.dtype() == dtype);
    CHECK(back.shape() == Shape{2, 3});
    CHECK(back.strides() == view.strides());
    CHECK(back.data() == view.data());
  }
  CHECK(from_dlpack(to_dlpack(empty({}))).dim() == 0);
  CHECK(from_dlpack(to_dlpack(empty({0, 3}))).numel() == 0);
}

TEST_CASE("memory handed out by DLPack lives until it is given back") {
  Tensor x = counted<float>({4});
  DLManagedTensor* const out = to_dlpack(x);
  x = Tensor();
  CHECK(static_cast<float*>(out->dl_tensor.data)[3] == 3);
  out->deleter(out);
}

TEST_CASE("memory taken in by DLPack is given back when the last view is gone") {
  Foreign foreign;
  released = 0;
  {
    Tensor view;
    {
      const Tensor x = from_dlpack(&foreign.managed);
      CHECK(x.is_contiguous());
      view = x.with_layout(x.layout().select(0, 1));
    }
    CHECK(released == 0);
    CHECK(view.data<float>()[0] == 3);
  }
  CHECK(released == 1);
  foreign.managed.dl_tensor.strides = foreign.strides;
  foreign.managed.dl_tensor.byte_offset = 4;
  foreign.shape[0] = 1;
  foreign.strides[0] = -7;  // never stepped
  CHECK(from_dlpack(&foreign.managed).data<float>()[0] == 1);
  CHECK(from_dlpack(&foreign.managed).layout().strides[1] == 2);
}

TEST_CASE("what DLPack cannot bring is refused and stays with the caller") {
  released = 0;
  const auto refused = [](auto change) {
    Foreign foreign;
    foreign.managed.dl_tensor.strides = foreign.strides;
    change(foreign.managed.dl_tensor, foreign);
    CHECK_THROWS_AS(from_dlpack(&foreign.managed), Error);
  };
  refused([](DLTensor& x, Foreign&) { x.device.device_type = kDLCUDA; });
  refused([](DLTensor& x, Foreign&) { x.dtype.lanes = 4; });
  refused([](DLTensor& x, Foreign&) { x.dtype = {kDLComplex, 64, 1}; });
  refused([](DLTensor& x, Foreign&) { x.dtype.bits = 8; });
  refused([](DLTensor& x, Foreign&) { x.ndim = 9; });
  refused([](DLTensor& x, Foreign&) { x.ndim = -1; });
  refused([](DLTensor&, Foreign& f) { f.shape[0] = -2; });
  refused([](DLTensor&, Foreign& f) { f.strides[0] = -1; });
  refused([](DLTensor&, Foreign& f) { f.strides[0] = INT64_MAX; });
  refused([](DLTensor&, Foreign& f) { f.shape[0] = INT64_MAX; });
  refused([](DLTensor& x, Foreign&) { x.data = nullptr; });
  refused([](DLTensor& x, Foreign&) { x.byte_offset = 2; });
  CHECK(released == 0);
  CHECK_THROWS_AS(from_dlpack(nullptr), Error);
  CHECK_THROWS_AS(to_dlpack(Tensor()), Error);
  CHECK_THROWS_AS(to_dlpack(empty({2}).requires_grad_()), Error);
}
