#include <tern/core/dlpack.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <memory>

namespace tern {
namespace {

constexpr uint8_t bool_code = 6;  // kDLBool of DLPack 0.8; Debian's header is older

struct TypeCode {
  DType dtype;
  uint8_t code, bits;
};
constexpr TypeCode type_codes[] = {
    {float32, kDLFloat, 32}, {float64, kDLFloat, 64}, {float16, kDLFloat, 16}, {bfloat16, kDLBfloat, 16},
    {int64, kDLInt, 64},     {int32, kDLInt, 32},     {uint8, kDLUInt, 8},     {boolean, bool_code, 8}};

// What a handed-out structure points into.
struct Export {
  explicit Export(const Tensor& x) : tensor(x), shape(x.shape()), strides(x.strides()) {}

  Tensor tensor;
  Shape shape;
  Strides strides;
  DLManagedTensor managed{};
};

DType dtype_of(const DLDataType& type) {
  const auto* found = std::find_if(std::begin(type_codes), std::end(type_codes), [&](const TypeCode& known) {
    return known.code == type.code && known.bits == type.bits && type.lanes == 1;
  });
  check(found != std::end(type_codes), "from_dlpack: elements of type code ", int{type.code}, " with ",
        int{type.bits}, " bits and ", type.lanes, " lanes are not served");
  return found->dtype;
}

Layout layout_of(const DLTensor& from) {
  check(from.ndim >= 0 && from.ndim <= max_dims, "from_dlpack: at most ", max_dims,
        " dimensions are supported, got ", from.ndim);
  const auto count = static_cast<size_t>(from.ndim);
  const Shape shape(std::span<const int64_t>(from.shape, count));
  static_cast<void>(shape.numel());  // throws for negative sizes and too large ones
  if (!from.strides) return Layout(shape);
  Strides strides(std::span<const int64_t>(from.strides, count));
  for (int i = 0; i < from.ndim; ++i) {
    if (shape[i] < 2) strides[i] = 1;  // never stepped: some frameworks leave anything there
    check(strides[i] >= 0, "from_dlpack: negative strides are not served, got ", strides);
  }
  return Layout(shape, strides);
}

// The bytes from the first element to the last.
size_t reach(const Layout& layout, size_t size) {
  int64_t last = 0, bytes = 0;
  bool overflow = false;
  for (int i = 0; i < layout.dim(); ++i) {
    int64_t part = 0;
    if (layout.shape[i] == 0) return 0;
    overflow |= __builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &part);
    overflow |= __builtin_add_overflow(last, part, &last);
  }
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(size), &bytes);
  check(!overflow, "from_dlpack: shape ", layout.shape, " with strides ", layout.strides,
        " reaches beyond 2^63 bytes");
  return static_cast<size_t>(bytes);
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& x) {
  check(x.defined(), "to_dlpack: the tensor is undefined");
  check(!x.requires_grad(), "to_dlpack: the tensor requires a gradient, which would be lost; detach() it");
  check(x.device().is_cpu(), "to_dlpack: the tensor must be on the CPU, it is on ", x.device());
  const auto* type = std::find_if(std::begin(type_codes), std::end(type_codes),
                                  [&](const TypeCode& known) { return known.dtype == x.dtype(); });
  auto owned = std::make_unique<Export>(x);
  owned->managed = {.dl_tensor = {.data = x.data(),
                                  .device = {kDLCPU, 0},
                                  .ndim = static_cast<int>(x.dim()),
                                  .dtype = {type->code, type->bits, 1},
                                  .shape = owned->shape.begin(),
                                  .strides = owned->strides.begin(),
                                  .byte_offset = 0},
                    .manager_ctx = owned.get(),
                    .deleter = [](DLManagedTensor* self) { delete static_cast<Export*>(self->manager_ctx); }};
  return &owned.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  check(managed, "from_dlpack: needs a tensor, got null");
  const DLTensor& from = managed->dl_tensor;
  check(from.device.device_type == kDLCPU,
        "from_dlpack: only tensors on the CPU are served, got device type ",
        static_cast<int>(from.device.device_type));
  const DType dtype = dtype_of(from.dtype);
  const Layout layout = layout_of(from);
  const size_t bytes = reach(layout, size_of(dtype));
  check(from.data || bytes == 0, "from_dlpack: the tensor has no memory");
  auto* const data = static_cast<char*>(from.data) + (from.data ? from.byte_offset : 0);
  check(reinterpret_cast<uintptr_t>(data) % size_of(dtype) == 0, "from_dlpack: the elements are not aligned");
  const auto release = [managed] {
    if (managed->deleter) managed->deleter(managed);
  };
  return Tensor(make_ref<Storage>(data, bytes, Device(), release), layout, dtype);
}

}  // namespace tern
