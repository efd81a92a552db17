// Handlers for instructions that compute each lane's result from its own operands: one template for each
// number of operands, filled with a function of functions.h. Included by the ptx_*.cpp files only.
#pragma once

#include <immintrin.h>
#include <tern/tests/simgpu/warp.h>

#include <cstring>

namespace simgpu {

/// Stores results in the lanes that run.
template <class D>
inline void store_lanes(Warp& warp, uint32_t offset, const D* values) {
  D* target = warp.lanes<D>(offset);
  if (warp.mask == all_lanes) {
    std::memcpy(target, values, 32 * sizeof(D));
    return;
  }
  const uint32_t mask = warp.mask;
  for (uint32_t lane = 0; lane < 32; ++lane)
    target[lane] = (mask >> lane & 1) != 0 ? values[lane] : target[lane];
}

template <class D, class A, class F>
void unary(Warp& warp, const Operation& operation) {
  const A* a = warp.lanes<A>(operation.a);
  D result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) result[lane] = static_cast<D>(F()(a[lane]));
  store_lanes(warp, operation.d, result);
}

template <class D, class A, class B, class F>
void binary(Warp& warp, const Operation& operation) {
  const A* a = warp.lanes<A>(operation.a);
  const B* b = warp.lanes<B>(operation.b);
  D result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) result[lane] = static_cast<D>(F()(a[lane], b[lane]));
  store_lanes(warp, operation.d, result);
}

template <class D, class A, class B, class C, class F>
void ternary(Warp& warp, const Operation& operation) {
  const A* a = warp.lanes<A>(operation.a);
  const B* b = warp.lanes<B>(operation.b);
  const C* c = warp.lanes<C>(operation.c);
  D result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) result[lane] = static_cast<D>(F()(a[lane], b[lane], c[lane]));
  store_lanes(warp, operation.d, result);
}

template <class D, class A, class B, class C, class E, class F>
void quaternary(Warp& warp, const Operation& operation) {
  const A* a = warp.lanes<A>(operation.a);
  const B* b = warp.lanes<B>(operation.b);
  const C* c = warp.lanes<C>(operation.c);
  const E* e = warp.lanes<E>(operation.e);
  D result[32];
  for (uint32_t lane = 0; lane < 32; ++lane)
    result[lane] = static_cast<D>(F()(a[lane], b[lane], c[lane], e[lane]));
  store_lanes(warp, operation.d, result);
}

/// Registers of 32 bits that hold two values of 16: F for each half.
template <class F>
struct Halves {
  template <class... Operands>
  uint32_t operator()(Operands... operands) const {
    const auto low = static_cast<uint16_t>(F()(static_cast<uint16_t>(operands)...));
    const auto high = static_cast<uint16_t>(F()(static_cast<uint16_t>(operands >> 16)...));
    return static_cast<uint32_t>(high) << 16 | low;
  }
};

/// Runs the operation's inner handler with the processor's rounding mode set.
template <unsigned mode>
void rounded(Warp& warp, const Operation& operation) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~unsigned{_MM_ROUND_MASK}) | mode);
  operation.inner(warp, operation);
  _mm_setcsr(before);
}

/// The handler that `choose` gives for the integer type of the register: choose.template operator()<T>().
template <class Choose>
Handler for_integers(PtxType type, Choose choose) {
  const bool is_signed = type.kind == 's';
  switch (type.bytes) {
    case 1:
    case 2:
      return is_signed ? choose.template operator()<int16_t>() : choose.template operator()<uint16_t>();
    case 4:
      return is_signed ? choose.template operator()<int32_t>() : choose.template operator()<uint32_t>();
    case 8:
      return is_signed ? choose.template operator()<int64_t>() : choose.template operator()<uint64_t>();
    default:
      return nullptr;
  }
}

template <class Choose>
Handler for_bits(PtxType type, Choose choose) {
  return for_integers({type.bytes, 'b', 1}, choose);
}

template <class Choose>
Handler for_floats(PtxType type, Choose choose) {
  if (type.kind != 'f') return nullptr;
  return type.bytes == 4 ? choose.template operator()<float>() : choose.template operator()<double>();
}

template <class Choose>
Handler for_numbers(PtxType type, Choose choose) {
  return type.kind == 'f' ? for_floats(type, choose) : for_integers(type, choose);
}

}  // namespace simgpu
