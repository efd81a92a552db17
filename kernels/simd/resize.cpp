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

// One pixel of the result from an image, by the taps of its row and of its column.
template <class T>
void mix(const ResizeTask& task, const T* image, const int64_t* rows, const int64_t* columns, T* to) {
  bool first = true;
  for (int64_t r = rows[0]; r < rows[1]; ++r) {
    for (int64_t s = columns[0]; s < columns[1]; ++s) {
      const ResizeTap row = task.rows.taps[r], column = task.columns.taps[s];
      const T* const source = image + (row.at * task.from_w + column.at) * task.channels;
      (first ? start<T> : add<T>)(source, static_cast<T>(row.weight * column.weight), task.channels, to);
      first = false;
    }
  }
  if (!first) return;
  for (int64_t c = 0; c < task.channels; ++c) to[c] = 0;
}

// The same for few channels, in registers.
template <class T, int channels>
void mix_few(const ResizeTask& task, const T* image, const int64_t* rows, const int64_t* columns, T* to) {
  T sum[channels] = {};
  for (int64_t r = rows[0]; r < rows[1]; ++r) {
    for (int64_t s = columns[0]; s < columns[1]; ++s) {
      const ResizeTap row = task.rows.taps[r], column = task.columns.taps[s];
      const T weight = static_cast<T>(row.weight * column.weight);
      const T* const source = image + (row.at * task.from_w + column.at) * channels;
      TERN_UNROLL for (int c = 0; c < channels; ++c) sum[c] += weight * source[c];
    }
  }
  TERN_UNROLL for (int c = 0; c < channels; ++c) to[c] = sum[c];
}

template <class T, auto pixel>
void resize_by(const ResizeTask& task, const T* from, T* to, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const T* const image = from + item / task.to_h * task.from_h * task.from_w * task.channels;
    const int64_t* const rows = task.rows.begin + item % task.to_h;
    for (int64_t q = 0; q < task.to_w; ++q)
      pixel(task, image, rows, task.columns.begin + q, to + (item * task.to_w + q) * task.channels);
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
