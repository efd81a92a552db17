#include <tern/kernels/simd/copy.h>

#include <tern/kernels/simd/half_rows.h>

namespace tern::simd::TERN_ISA {
namespace {

template <class From, class To>
void convert(const void* src, void* dst, int64_t count) {
  const From* from = static_cast<const From*>(src);
  To* to = static_cast<To*>(dst);
  if constexpr (std::is_same_v<From, float> && sizeof(To) == 2)
    narrow_row(from, count, to);
  else if constexpr (sizeof(From) == 2 && std::is_same_v<To, float>)
    widen_row(from, count, to);
  else
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
}

template <class To>
ConvertFunction convert_to(DType from) {
  switch (from) {
    case DType::float32:
      return convert<float, To>;
    case DType::float64:
      return convert<double, To>;
    case DType::float16:
      return convert<Half, To>;
    case DType::bfloat16:
      return convert<BFloat16, To>;
    case DType::uint8:
      return convert<uint8_t, To>;
    default:
      return nullptr;
  }
}

ConvertFunction find_convert(DType from, DType to) {
  if (from == to) return nullptr;
  switch (to) {
    case DType::float32:
      return convert_to<float>(from);
    case DType::float64:
      return convert_to<double>(from);
    case DType::float16:
      return convert_to<Half>(from);
    case DType::bfloat16:
      return convert_to<BFloat16>(from);
    default:
      return nullptr;
  }
}

typedef uint32_t Row __attribute__((vector_size(32)));

// Three rounds of exchanging halves: of elements, of pairs, of quadruples.
[[gnu::always_inline]] inline void transpose8(const uint32_t* src, int64_t src_stride, uint32_t* dst,
                                              int64_t dst_stride) {
  Row a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    Row x, y;
    __builtin_memcpy(&x, src + i * src_stride, sizeof x);
    __builtin_memcpy(&y, src + (i + 1) * src_stride, sizeof y);
    a[i] = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
    a[i + 1] = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const int j = i % 2 + i / 2 * 4;
    b[j] = __builtin_shufflevector(a[j], a[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[j + 2] = __builtin_shufflevector(a[j], a[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const Row low = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const Row high = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    __builtin_memcpy(dst + i * dst_stride, &low, sizeof low);
    __builtin_memcpy(dst + (i + 4) * dst_stride, &high, sizeof high);
  }
}

void transpose_edge(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t dst_stride, int64_t rows,
                    int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) dst[c * dst_stride + r] = src[r * src_stride + c];
  }
}

void transpose(const uint32_t* src, int64_t src_stride, uint32_t* dst, int64_t dst_stride, int64_t rows,
               int64_t columns) {
  const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t c = 0; c < whole_columns; c += 8) {
      transpose8(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
    }
  }
  transpose_edge(src + whole_columns, src_stride, dst + whole_columns * dst_stride, dst_stride, whole_rows,
                 columns - whole_columns);
  transpose_edge(src + whole_rows * src_stride, src_stride, dst + whole_rows, dst_stride, rows - whole_rows,
                 columns);
}

}  // namespace

extern const CopyKernels copy_table;
const CopyKernels copy_table{find_convert, transpose};

}  // namespace tern::simd::TERN_ISA
