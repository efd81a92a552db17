#include <tern/kernels/simd/copy.h>

#include <tern/kernels/simd/half_rows.h>
#include <tern/kernels/simd/vec.h>

#include <utility>

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

template <class Word>
void repeat(const void* src, void* dst, int64_t count) {
  const Word value = *static_cast<const Word*>(src);
  Word* to = static_cast<Word*>(dst);
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}

template <class Word>
void reverse(const void* src, void* dst, int64_t count) {
  // Forwards through what is read: row after row, that is how caches fetch ahead.
  const Word* __restrict from = static_cast<const Word*>(src) - (count - 1);
  Word* __restrict to = static_cast<Word*>(dst) + (count - 1);
  for (int64_t i = 0; i < count; ++i) to[-i] = from[i];
}

// The rows of a square of elements: vectors of 16 at most.
template <class Word>
constexpr int row_size = sizeof(Vec) / sizeof(Word) < 16 ? sizeof(Vec) / sizeof(Word) : 16;
template <class Word>
struct Rows {
  typedef Word Row __attribute__((vector_size(sizeof(Word) * row_size<Word>)));
};
template <class Word>
using Row = typename Rows<Word>::Row;

// Exchanges, between rows `distance` apart, the parts of this length that the diagonal separates.
template <int distance, class Word, int... lane>
[[gnu::always_inline]] inline void exchange(Row<Word>* rows, std::integer_sequence<int, lane...>) {
  constexpr int size = sizeof...(lane);
  TERN_UNROLL for (int k = 0; k < size; ++k) {
    if (k & distance) continue;
    const Row<Word> x = rows[k], y = rows[k + distance];
    rows[k] = __builtin_shufflevector(x, y, (lane & distance ? lane - distance + size : lane)...);
    rows[k + distance] = __builtin_shufflevector(x, y, (lane & distance ? lane + size : lane + distance)...);
  }
}

template <class Word>
[[gnu::always_inline]] inline void transpose_square(const Word* src, int64_t src_stride, Word* dst,
                                                    int64_t dst_stride) {
  constexpr int size = row_size<Word>;
  constexpr std::make_integer_sequence<int, size> lanes;
  Row<Word> rows[size];
  TERN_UNROLL for (int k = 0; k < size; ++k) __builtin_memcpy(rows + k, src + k * src_stride, sizeof *rows);
  exchange<1, Word>(rows, lanes);
  if constexpr (size > 2) exchange<2, Word>(rows, lanes);
  if constexpr (size > 4) exchange<4, Word>(rows, lanes);
  if constexpr (size > 8) exchange<8, Word>(rows, lanes);
  TERN_UNROLL for (int k = 0; k < size; ++k) __builtin_memcpy(dst + k * dst_stride, rows + k, sizeof *rows);
}

template <class Word>
void transpose_edge(const Word* src, int64_t src_stride, Word* dst, int64_t dst_stride, int64_t rows,
                    int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) dst[c * dst_stride + r] = src[r * src_stride + c];
  }
}

// Squares below each other first: their results lie side by side, and a cache line is written to at once.
template <class Word>
void transpose(const void* from, int64_t src_stride, void* to, int64_t dst_stride, int64_t rows,
               int64_t columns) {
  const Word* src = static_cast<const Word*>(from);
  Word* dst = static_cast<Word*>(to);
  constexpr int size = row_size<Word>;
  const int64_t whole_rows = rows / size * size, whole_columns = columns / size * size;
  for (int64_t c = 0; c < whole_columns; c += size) {
    for (int64_t r = 0; r < whole_rows; r += size)
      transpose_square(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
  }
  transpose_edge(src + whole_columns, src_stride, dst + whole_columns * dst_stride, dst_stride, whole_rows,
                 columns - whole_columns);
  transpose_edge(src + whole_rows * src_stride, src_stride, dst + whole_rows, dst_stride, rows - whole_rows,
                 columns);
}

template <class Word>
constexpr MoveFunctions moves{repeat<Word>, reverse<Word>, transpose<Word>};

}  // namespace

extern const CopyKernels copy_table;
const CopyKernels copy_table{find_convert,
                             {moves<uint8_t>, moves<uint16_t>, moves<uint32_t>, moves<uint64_t>}};

}  // namespace tern::simd::TERN_ISA
