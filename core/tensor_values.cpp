#include <tern/core/tensor_values.h>

#include <algorithm>
#include <array>

namespace tern {
namespace {

using Write = std::function<void(const void*, size_t)>;

// The elements in row-major order, from dimension `dim` on.
template <class T>
void write_elements(const Write& write, const Layout& layout, int64_t dim, const T* from) {
  const int64_t size = layout.shape[dim], step = layout.strides[dim];
  if (dim < layout.dim() - 1) {
    for (int64_t i = 0; i < size; ++i) write_elements(write, layout, dim + 1, from + i * step);
    return;
  }
  std::array<T, 512> row;
  for (int64_t done = 0; done < size;) {
    const int64_t count = std::min<int64_t>(size - done, row.size());
    for (int64_t i = 0; i < count; ++i) row[static_cast<size_t>(i)] = from[(done + i) * step];
    write(row.data(), static_cast<size_t>(count) * sizeof(T));
    done += count;
  }
}

}  // namespace

void each_value(const Tensor& x, const Write& write) {
  if (x.is_contiguous()) return write(x.data(), static_cast<size_t>(bytes_of(x)));
  dispatch(x.dtype(), [&]<class T>() { write_elements(write, x.layout(), 0, x.data<T>()); });
}

bool holds_valid_values(const Tensor& x) {
  if (x.dtype() != boolean) return true;
  const auto* bytes = static_cast<const uint8_t*>(x.data());
  return std::all_of(bytes, bytes + x.numel(), [](uint8_t byte) { return byte <= 1; });
}

}  // namespace tern
