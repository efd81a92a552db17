#include <tern/kernels/simd/resize.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

extern const ResizeKernels resize_table;

namespace {

// What a sum starts with. To -0 a product is added without a change, even of a zero's sign.
template <class T>
[[gnu::always_inline]] inline T nothing(const int64_t* rows, const int64_t* columns) {
  return rows[0] < rows[1] && columns[0] < columns[1] ? T(-0.0) : T(0);
}

// Channels of a row of the result that `size` values of V (vectors or single elements) hold, by the taps of
// the row and of its columns.
template <int size, class V, class T>
[[gnu::always_inline]] inline void mix_some(const ResizeTask& task, int64_t channels, const T* image,
                                            const int64_t* rows, T* to) {
  constexpr int lanes = sizeof(V) / sizeof(T);
  for (int64_t q = 0; q < task.to_w; ++q) {
    const int64_t* const columns = task.columns.begin + q;
    V sum[size];
    TERN_UNROLL for (int k = 0; k < size; ++k) sum[k] = nothing<T>(rows, columns) - V{};
    for (int64_t r = rows[0]; r < rows[1]; ++r) {
      for (int64_t s = columns[0]; s < columns[1]; ++s) {
        const ResizeTap row = task.rows.taps[r], column = task.columns.taps[s];
        const T weight = static_cast<T>(row.weight * column.weight);
        const T* const source = image + (row.at * task.from_w + column.at) * channels;
        TERN_UNROLL for (int k = 0; k < size; ++k) {
          V value;
          __builtin_memcpy(&value, source + k * lanes, sizeof value);
          sum[k] += weight * value;
        }
      }
    }
    TERN_UNROLL for (int k = 0; k < size; ++k) {
      __builtin_memcpy(to + q * channels + k * lanes, &sum[k], sizeof(V));
    }
  }
}

// A row of the result from an image.
template <class T>
void mix(const ResizeTask& task, const T* image, const int64_t* rows, T* to) {
  typedef T V __attribute__((vector_size(sizeof(Vec))));
  constexpr int lanes = sizeof(V) / sizeof(T);
  const int64_t channels = task.channels;
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) mix_some<4, V>(task, channels, image + c, rows, to + c);
  for (; c + 2 * lanes <= channels; c += 2 * lanes) mix_some<2, V>(task, channels, image + c, rows, to + c);
  for (; c + lanes <= channels; c += lanes) mix_some<1, V>(task, channels, image + c, rows, to + c);
  for (; c < channels; ++c) mix_some<1, T>(task, channels, image + c, rows, to + c);
}

template <class T, int channels>
void mix_few(const ResizeTask& task, const T* image, const int64_t* rows, T* to) {
  mix_some<channels, T>(task, channels, image, rows, to);
}

template <class T, auto row>
void resize_by(const ResizeTask& task, const T* from, T* to, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const T* const image = from + item / task.to_h * task.from_h * task.from_w * task.channels;
    row(task, image, task.rows.begin + item % task.to_h, to + item * task.to_w * task.channels);
  }
}

template <class T>
void resize(const ResizeTask& task, const T* from, T* to, int64_t begin, int64_t end) {
  switch (task.channels) {
    case 1:
      return resize_by<T, mix_few<T, 1>>(task, from, to, begin, end);
    case 3:
      return resize_by<T, mix_few<T, 3>>(task, from, to, begin, end);
    case 4:
      return resize_by<T, mix_few<T, 4>>(task, from, to, begin, end);
    default:
      return resize_by<T, mix<T>>(task, from, to, begin, end);
  }
}

}  // namespace

const ResizeKernels resize_table = {resize<float>, resize<double>};

}  // namespace tern::simd::TERN_ISA
