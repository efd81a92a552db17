#include <tern/kernels/simd/reduce.h>

#include <tern/kernels/simd/half_rows.h>
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

// How a run of elements is combined in their own type before it meets the accumulators, which are doubles.
enum class Runs { none, whole, numbers, in_range };

struct Sum : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a += x;
  }
  static constexpr double start = 0;
  static constexpr Runs runs = Runs::whole;
};

// In double from the first: a square in float could overflow or vanish.
struct SumOfSquares : Sum {
  template <class V>
  [[gnu::always_inline]] static V value(const V& x) {
    return x * x;
  }
  static constexpr Runs runs = Runs::none;
};

// In float where that neither overflows nor vanishes.
struct Prod : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a *= x;
  }
  static constexpr double start = 1;
  static constexpr Runs runs = Runs::in_range;
};

// NaN replaces a number, and nothing replaces NaN. `quick` is for numbers alone.
struct Max : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a = ((x > a) | (x != x)) ? x : a;
  }
  template <class V>
  [[gnu::always_inline]] static void quick(V& a, const V& x) {
    a = x > a ? x : a;
  }
  static constexpr double start = -__builtin_inf();
  static constexpr Runs runs = Runs::numbers;
};

struct Min : Itself {
  template <class V>
  [[gnu::always_inline]] static void step(V& a, const V& x) {
    a = ((x < a) | (x != x)) ? x : a;
  }
  template <class V>
  [[gnu::always_inline]] static void quick(V& a, const V& x) {
    a = x < a ? x : a;
  }
  static constexpr double start = __builtin_inf();
  static constexpr Runs runs = Runs::numbers;
};

// Elements of type S in vectors; runs short enough for float32 are combined in double.
template <class S, class Op>
struct Loops {
  static constexpr int lanes = 4 * vec_floats / static_cast<int>(sizeof(S));
  static constexpr bool has_runs = Op::runs != Runs::none && (Op::runs != Runs::in_range || sizeof(S) == 4);
  static constexpr int64_t run = has_runs ? 16 : 1;  // vectors that a lane combines in S
  // Elements from those in work to those that are fetched: enough that the next row comes while the lanes of
  // one are combined. Products gain nothing from it.
  static constexpr int64_t ahead = 4096 / sizeof(S);
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

  template <class Mask>
  [[gnu::always_inline]] static bool none(const Mask& mask) {
    int64_t parts[sizeof(V) / sizeof(int64_t)], any = 0;
    __builtin_memcpy(parts, &mask, sizeof parts);
    TERN_UNROLL
    for (const int64_t part : parts) any |= part;
    return any == 0;
  }

  // The extremes of numbers in less time: false where there may be a NaN, which the sums then are.
  template <int N>
  [[gnu::always_inline]] static bool quick_extremes(const S* x, int64_t stride, int64_t count, V (&a)[N]) {
    V sum[N];
    TERN_UNROLL
    for (int v = 0; v < N; ++v) {
      load(a[v], x + v * lanes);
      sum[v] = a[v];
    }
    for (int64_t i = 1; i < count; ++i) {
      TERN_UNROLL
      for (int v = 0; v < N; ++v) {
        V next;
        load(next, x + i * stride + v * lanes);
        __builtin_prefetch(x + i * stride + v * lanes + ahead);
        Op::quick(a[v], next);
        sum[v] += next;
      }
    }
    TERN_UNROLL
    for (int v = 1; v < N; ++v) sum[0] += sum[v];
    return none(sum[0] != sum[0]);
  }

  // `count` rows of N vectors side by side, `stride` apart, combined in S; false where S does not do.
  template <int N>
  [[gnu::always_inline]] static bool run_of(const S* x, int64_t stride, int64_t count, V (&a)[N]) {
    if constexpr (Op::runs == Runs::numbers) {
      if (quick_extremes(x, stride, count, a)) return true;
    }
    TERN_UNROLL
    for (int v = 0; v < N; ++v) load(a[v], x + v * lanes);
    for (int64_t i = 1; i < count; ++i) {
      TERN_UNROLL
      for (int v = 0; v < N; ++v) {
        V next;
        load(next, x + i * stride + v * lanes);
        if constexpr (Op::runs == Runs::whole) __builtin_prefetch(x + i * stride + v * lanes + ahead);
        Op::step(a[v], next);
      }
    }
    if constexpr (Op::runs == Runs::in_range && has_runs) {
      typedef uint32_t Bits __attribute__((vector_size(sizeof(V))));
      constexpr uint32_t least = 0x04000000, most = 0x7f000000;  // 2^-119 and 2^127
      auto outside = (a[0] != a[0]);
      TERN_UNROLL
      for (const V& v : a) {
        const Bits size = reinterpret_cast<const Bits&>(v) & 0x7fffffff;
        outside |= size - least > most - least;
      }
      return none(outside);
    }
    return true;
  }

  // The same without S in between, each vector by itself: accumulators[v] for vector v of a row.
  template <int N>
  static void widen_all(const S* x, int64_t stride, int64_t count, Wide (&accumulators)[N]) {
    for (int64_t i = 0; i < count; ++i) {
      for (int v = 0; v < N; ++v) {
        V next;
        load(next, x + i * stride + v * lanes);
        widen(accumulators[v], next);
      }
    }
  }

  // The part of a row that fills whole vectors. Where each vector goes to the accumulators, four sets of them
  // hide the time that a step takes.
  static void vectors(const S* x, int64_t count, double& result) {
    constexpr bool one_by_one = Op::runs == Runs::none || Op::runs == Runs::in_range;
    Wide wide[one_by_one ? 4 : 1];
    TERN_UNROLL
    for (Wide& set : wide) {
      TERN_UNROLL
      for (D& part : set.part) part = D{} + Op::start;
    }
    for (int64_t groups; (groups = count / (4 * lanes)) > 0;) {
      groups = groups < run ? groups : run;
      V a[4];
      const bool combined = run_of<4>(x, 4 * lanes, groups, a);
      if constexpr (!one_by_one) {
        Op::step(a[0], a[1]), Op::step(a[2], a[3]), Op::step(a[0], a[2]);
        widen(wide[0], a[0]);
      } else if (combined) {
        TERN_UNROLL
        for (int i = 0; i < 4; ++i) widen(wide[i], a[i]);
      } else {
        widen_all<4>(x, 4 * lanes, groups, wide);
      }
      x += groups * 4 * lanes, count -= groups * 4 * lanes;
    }
    for (; count >= lanes; x += lanes, count -= lanes) {
      V v;
      load(v, x);
      widen(wide[0], v);
    }
    fold(wide, result);
  }

  template <int Sets>
  [[gnu::always_inline]] static void fold(Wide (&wide)[Sets], double& result) {
    TERN_UNROLL
    for (int j = 0; j < parts; ++j) {
      D& total = wide[0].part[j];
      if constexpr (Sets == 4) {
        Op::step(total, wide[1].part[j]), Op::step(wide[2].part[j], wide[3].part[j]);
        Op::step(total, wide[2].part[j]);
      }
      if (j > 0) Op::step(wide[0].part[0], total);
    }
    double rest[doubles];
    __builtin_memcpy(rest, wide[0].part, sizeof rest);
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
    Wide wide[N];
    for (int64_t r = 0; r < rows; r += run) {
      const int64_t count = rows - r < run ? rows - r : run;
      __builtin_memcpy(wide, accumulators, sizeof wide);
      V a[N];
      if (run_of<N>(x + r * row_stride, row_stride, count, a)) {
        TERN_UNROLL
        for (int v = 0; v < N; ++v) widen(wide[v], a[v]);
      } else {
        widen_all<N>(x + r * row_stride, row_stride, count, wide);
      }
      __builtin_memcpy(static_cast<void*>(accumulators), wide, sizeof wide);
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
  widen_row(x, count, y);
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
    case ReduceOp::prod:
      return loops_of<Prod>(dtype);
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
