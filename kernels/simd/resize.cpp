#include <tern/kernels/simd/resize.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

extern const ResizeKernels resize_table;

namespace {

template <class T>
void start(const T* __restrict from, T weight, int64_t channels, T* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) to[c] = weight * from[c];
}

template <class T>
void add(const T* __restrict from, T weight, int64_t channels, T* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) to[c] += weight * from[c];
}

template <class T>
void resize(const ResizeTask& task, const T* from, T* to, int64_t begin, int64_t end) {
  const int64_t channels = task.channels;
  for (int64_t item = begin; item < end; ++item) {
    const T* const image = from + item / task.to_h * task.from_h * task.from_w * channels;
    const int64_t* const rows = task.rows.begin + item % task.to_h;
    for (int64_t q = 0; q < task.to_w; ++q) {
      T* const pixel = to + (item * task.to_w + q) * channels;
      const int64_t* const columns = task.columns.begin + q;
      if (rows[0] == rows[1] || columns[0] == columns[1]) {
        for (int64_t c = 0; c < channels; ++c) pixel[c] = 0;
      }
      bool first = true;
      for (int64_t r = rows[0]; r < rows[1]; ++r) {
        for (int64_t s = columns[0]; s < columns[1]; ++s) {
          const ResizeTap row = task.rows.taps[r], column = task.columns.taps[s];
          const T* const source = image + (row.at * task.from_w + column.at) * channels;
          (first ? start<T> : add<T>)(source, static_cast<T>(row.weight * column.weight), channels, pixel);
          first = false;
        }
      }
    }
  }
}

}  // namespace

const ResizeKernels resize_table = {resize<float>, resize<double>};

}  // namespace tern::simd::TERN_ISA
