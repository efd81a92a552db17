#include <tern/kernels/simd/reduce.h>

#include <tern/core/half.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

// What is made of each element, once it is a double.
struct Itself {
  template <class V>
  [[gnu::always_inline]] static V value(const V& x) {
    return x;
  }
};

struct Sum : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a += x;
  }
  static constexpr double start = 0;
  static constexpr bool has_runs = true;
};

// In double from the first: a square in S could overflow or vanish.
struct SumOfSquares : Sum {
  template <class V>
  [[gnu::always_inline]] static V value(const V& x) {
    return x * x;
  }
  static constexpr bool has_runs = false;
};

// NaN replaces a number, and nothing replaces NaN.
struct Max : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a = ((x > a) | (x != x)) ? x : a;
  }
  static constexpr double start = -__builtin_inf();
  static constexpr bool has_runs = true;
};

struct Min : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a = ((x < a) | (x != x)) ? x : a;
  }
  static constexpr double start = __builtin_inf();
  static constexpr bool has_runs = true;
};

// Elements of type S in vectors; runs short enough for float32 are combined in double.
template <class S, class Op>
struct Loops {
  static constexpr int lanes = 4 * vec_floats / static_cast<int>(sizeof(S));
  static constexpr int64_t run = Op::has_runs ? 16 : 1;  // vectors that a lane adds up in S
  typedef S V __attribute__((vector_size(4 * vec_floats)));
  static constexpr int doubles = vec_floats / 2, parts = lanes / doubles;
  typedef double D __attribute__((vector_size(8 * doubles)));
  typedef S Part __attribute__((vector_size(sizeof(S) * doubles)));  // as many elements as a D has

  // The accumulators of the lanes.
  struct Wide {
    D part[parts];
  };

  [[gnu::always_inline]] static void load(V& v, const S* p) { __builtin_memcpy(&v, p, sizeof v); }
  [[gnu::always_inline]] static void widen(Wide& wide, const V& v) {
    Part part[parts];
    __builtin_memcpy(part, &v, sizeof part);
    TERN_UNROLL
    for (int i = 0; i < parts; ++i) Op::step(wide.part[i], Op::value(__builtin_convertvector(part[i], D)));
  }

  // `count` rows of N vectors side by side, `stride` apart.
  template <int N>
  [[gnu::always_inline]] static void run_of(const S* x, int64_t stride, int64_t count, V (&a)[N]) {
    TERN_UNROLL
    for (int v = 0; v < N; ++v) load(a[v], x + v * lanes);
    for (int64_t i = 1; i < count; ++i) {
      TERN_UNROLL
      for (int v = 0; v < N; ++v) {
        V next;
        load(next, x + i * stride + v * lanes);
        Op::step(a[v], next);
      }
    }
  }

  // The part of a row that fills whole vectors.
  static void vectors(const S* x, int64_t count, double& result) {
    Wide wide;
    TERN_UNROLL
    for (D& part : wide.part) part = D{} + Op::start;
    for (int64_t groups; (groups = count / (4 * lanes)) > 0;) {
      groups = groups < run ? groups : run;
      V a[4];
      run_of<4>(x, 4 * lanes, groups, a);
      if constexpr (Op::has_runs) {
        Op::step(a[0], a[1]), Op::step(a[2], a[3]), Op::step(a[0], a[2]);
        widen(wide, a[0]);
      } else {
        TERN_UNROLL
        for (const V& v : a) widen(wide, v);
      }
      x += groups * 4 * lanes, count -= groups * 4 * lanes;
    }
    for (; count >= lanes; x += lanes, count -= lanes) {
      V v;
      load(v, x);
      widen(wide, v);
    }
    TERN_UNROLL
    for (int i = 1; i < parts; ++i) Op::step(wide.part[0], wide.part[i]);
    double rest[doubles];
    __builtin_memcpy(rest, wide.part, sizeof rest);
    TERN_UNROLL
    for (int width = doubles / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) Op::step(rest[i], rest[i + width]);
    }
    Op::step(result, rest[0]);
  }

  [[gnu::noinline]] static void row(const S* x, int64_t count, double& result) {
    const int64_t whole = count / lanes * lanes;
    double value = result;
    if (whole > 0) vectors(x, whole, value);
    for (int64_t i = whole; i < count; ++i) Op::step(value, Op::value(static_cast<double>(x[i])));
    result = value;
  }

  template <int N>
  [[gnu::always_inline]] static void column_vectors(const S* x, int64_t row_stride, int64_t rows,
                                                    Accumulator* accumulators) {
    for (int64_t r = 0; r < rows; r += run) {
      V a[N];
      run_of<N>(x + r * row_stride, row_stride, rows - r < run ? rows - r : run, a);
      TERN_UNROLL
      for (int v = 0; v < N; ++v) {
        Wide wide;
        __builtin_memcpy(&wide, accumulators + v * lanes, sizeof wide);
        widen(wide, a[v]);
        __builtin_memcpy(static_cast<void*>(accumulators + v * lanes), &wide, sizeof wide);
      }
    }
  }

  [[gnu::noinline]] static void columns(const S* x, int64_t row_stride, int64_t rows, int64_t columns,
                                        Accumulator* accumulators) {
    int64_t j = 0;
    for (; j + 4 * lanes <= columns; j += 4 * lanes) {
      column_vectors<4>(x + j, row_stride, rows, accumulators + j);
    }
    for (; j + lanes <= columns; j += lanes) {
      column_vectors<1>(x + j, row_stride, rows, accumulators + j);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = j; i < columns; ++i) {
        Op::step(accumulators[i].floating, Op::value(static_cast<double>(x[r * row_stride + i])));
      }
    }
  }
};

constexpr int64_t buffer_rows = 16, buffer_columns = 64;

template <class T>
[[gnu::noinline]] void to_floats(const T* x, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]);
}

template <class T>
[[gnu::always_inline]] inline double to_double(T x) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(x);
  else
    return x;
}

template <class T, class Op>
void row(const void* x, int64_t stride, int64_t count, Accumulator* accumulator) {
  const T* from = static_cast<const T*>(x);
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i)
      Op::step(accumulator->floating, Op::value(to_double(from[i * stride])));
  } else if constexpr (sizeof(T) == 2) {
    float buffer[buffer_rows * buffer_columns];
    for (int64_t i = 0; i < count; i += buffer_rows * buffer_columns) {
      const int64_t n = count - i < buffer_rows * buffer_columns ? count - i : buffer_rows * buffer_columns;
      to_floats(from + i, n, buffer);
      Loops<float, Op>::row(buffer, n, accumulator->floating);
    }
  } else {
    Loops<T, Op>::row(from, count, accumulator->floating);
  }
}

template <class T, class Op>
void columns(const void* x, int64_t row_stride, int64_t rows, int64_t columns, Accumulator* accumulators) {
  const T* from = static_cast<const T*>(x);
  if constexpr (sizeof(T) == 2) {
    float buffer[buffer_rows * buffer_columns];
    for (int64_t j = 0; j < columns; j += buffer_columns) {
      const int64_t width = columns - j < buffer_columns ? columns - j : buffer_columns;
      for (int64_t r = 0; r < rows; r += buffer_rows) {
        const int64_t height = rows - r < buffer_rows ? rows - r : buffer_rows;
        for (int64_t i = 0; i < height; ++i) {
          to_floats(from + (r + i) * row_stride + j, width, buffer + i * buffer_columns);
        }
        Loops<float, Op>::columns(buffer, buffer_columns, height, width, accumulators + j);
      }
    }
  } else {
    Loops<T, Op>::columns(from, row_stride, rows, columns, accumulators);
  }
}

template <class Op>
ReduceLoops loops_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return {row<float, Op>, columns<float, Op>};
    case DType::float64:
      return {row<double, Op>, columns<double, Op>};
    case DType::float16:
      return {row<Half, Op>, columns<Half, Op>};
    case DType::bfloat16:
      return {row<BFloat16, Op>, columns<BFloat16, Op>};
    default:
      return {nullptr, nullptr};
  }
}

ReduceLoops find(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::sum:
      return loops_of<Sum>(dtype);
    case ReduceOp::sum_of_squares:
      return loops_of<SumOfSquares>(dtype);
    case ReduceOp::max:
      return loops_of<Max>(dtype);
    case ReduceOp::min:
      return loops_of<Min>(dtype);
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace

extern const ReduceKernels reduce_table;
const ReduceKernels reduce_table{find};

}  // namespace tern::simd::TERN_ISA
