#include <tern/kernels/simd/combine.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

extern const CombineKernels combine_table;

namespace {

// What elements of type T are combined in.
template <class T>
struct Computing {
  typedef T type;
};
template <>
struct Computing<Half> {
  typedef float type;
};
template <>
struct Computing<BFloat16> {
  typedef float type;
};

// What sums and products are taken in: integers wrap around.
template <class C>
struct Wrapping {
  typedef C type;
};
template <>
struct Wrapping<int64_t> {
  typedef uint64_t type;
};
template <>
struct Wrapping<int32_t> {
  typedef uint32_t type;
};

struct Sum {
  template <class C>
  [[gnu::always_inline]] static C step(C a, C b) {
    typedef typename Wrapping<C>::type W;
    return static_cast<C>(static_cast<W>(a) + static_cast<W>(b));
  }
  template <class C>
  [[gnu::always_inline]] static C finish(C a, int) {
    return a;
  }
};

struct Average : Sum {
  template <class C>
  [[gnu::always_inline]] static C finish(C a, int parts) {
    return a / static_cast<C>(parts);
  }
};

struct Min : Sum {
  template <class C>
  [[gnu::always_inline]] static C step(C a, C b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

struct Max : Sum {
  template <class C>
  [[gnu::always_inline]] static C step(C a, C b) {
    return ((b > a) | (b != b)) ? b : a;
  }
};

struct Product : Sum {
  template <class C>
  [[gnu::always_inline]] static C step(C a, C b) {
    typedef typename Wrapping<C>::type W;
    return static_cast<C>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// The last part is combined while the result is written.
template <class Op, class T, class C, class S>
[[gnu::always_inline]] inline void finish(const S* so_far, const T* last, int parts, T* out, int64_t count) {
  TERN_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const C all = Op::step(static_cast<C>(so_far[i]), static_cast<C>(last[i]));
    out[i] = static_cast<T>(Op::finish(all, parts));
  }
}

constexpr int64_t block = 512;  // elements whose intermediate results stay in the first cache

template <class T, class Op>
void combine(const void* const* parts, int part_count, void* out, int64_t count) {
  typedef typename Computing<T>::type C;
  const auto part = [&](int p, int64_t begin) { return static_cast<const T*>(parts[p]) + begin; };
  T* const to = static_cast<T*>(out);
  if (part_count == 2) return finish<Op, T, C>(part(0, 0), part(1, 0), 2, to, count);
  C so_far[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t size = count - begin < block ? count - begin : block;
    const T* const first = part(0, begin);
    for (int64_t i = 0; i < size; ++i) so_far[i] = static_cast<C>(first[i]);
    for (int p = 1; p < part_count - 1; ++p) {
      const T* const next = part(p, begin);
      for (int64_t i = 0; i < size; ++i) so_far[i] = Op::step(so_far[i], static_cast<C>(next[i]));
    }
    finish<Op, T, C>(so_far, part(part_count - 1, begin), part_count, to + begin, size);
  }
}

}  // namespace

#define ROW(T) \
  { combine<T, Sum>, combine<T, Average>, combine<T, Min>, combine<T, Max>, combine<T, Product> }
// A bool is a byte of 0 or 1.
const CombineKernels combine_table = {{ROW(float), ROW(double), ROW(Half), ROW(BFloat16), ROW(int64_t),
                                       ROW(int32_t), ROW(uint8_t), ROW(uint8_t)}};
#undef ROW

}  // namespace tern::simd::TERN_ISA
