// cvt: from every type of number to every other.
#include <tern/tests/simgpu/functions_half.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {
namespace {

namespace f = functions;

bool is_integer(PtxType type) { return type.kind == 'u' || type.kind == 's' || type.kind == 'b'; }
bool is_narrow(PtxType type) { return type.kind == 'g' || type.kind == 'h'; }

/// The low bits of a register as a number of the type S, clamped to D for .sat, and extended to the register.
template <class Register, class S, class D, bool clamp>
struct Resize {
  template <class Target>
  static Target apply(Register a) {
    const auto value = static_cast<S>(a);
    if constexpr (clamp) {
      const auto wide = static_cast<__int128>(value);
      const auto low = static_cast<__int128>(std::numeric_limits<D>::min());
      const auto high = static_cast<__int128>(std::numeric_limits<D>::max());
      return static_cast<Target>(static_cast<D>(std::clamp(wide, low, high)));
    }
    return static_cast<Target>(static_cast<D>(value));
  }
};

template <class Target, class Register, class S, class D, bool clamp>
void resize(Warp& warp, const Operation& operation) {
  const Register* a = warp.lanes<Register>(operation.a);
  Target result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    result[lane] = Resize<Register, S, D, clamp>::template apply<Target>(a[lane]);
  }
  store_lanes(warp, operation.d, result);
}

/// choose.template operator()<T>() for the integer type, bytes included.
template <class Choose>
Handler for_exact(PtxType type, Choose choose) {
  if (type.bytes == 1)
    return type.kind == 's' ? choose.template operator()<int8_t>() : choose.template operator()<uint8_t>();
  return for_integers(type, choose);
}

template <class Choose>
Handler for_register(uint32_t bytes, Choose choose) {
  return for_bits({static_cast<uint8_t>(bytes), 'b', 1}, choose);
}

Handler resize_handler(PtxType from, uint32_t from_bytes, PtxType to, uint32_t to_bytes, bool clamp) {
  return for_exact(from, [&]<class S>() -> Handler {
    return for_exact(to, [&]<class D>() -> Handler {
      return for_register(from_bytes, [&]<class R>() -> Handler {
        return for_register(to_bytes, [&]<class T>() -> Handler {
          if constexpr (sizeof(R) < sizeof(S) || sizeof(T) < sizeof(D)) {
            return nullptr;
          } else {
            return clamp ? Handler(&resize<T, R, S, D, true>) : Handler(&resize<T, R, S, D, false>);
          }
        });
      });
    });
  });
}

f::To way_of(const Instruction& instruction, f::To otherwise) {
  if (instruction.has("rni")) return f::To::nearest;
  if (instruction.has("rzi")) return f::To::zero;
  if (instruction.has("rmi")) return f::To::down;
  if (instruction.has("rpi")) return f::To::up;
  return otherwise;
}

template <class Choose>
Handler for_way(f::To way, Choose choose) {
  switch (way) {
    case f::To::nearest:
      return choose.template operator()<f::To::nearest>();
    case f::To::zero:
      return choose.template operator()<f::To::zero>();
    case f::To::down:
      return choose.template operator()<f::To::down>();
    default:
      return choose.template operator()<f::To::up>();
  }
}

bool rounds_to_whole(const Instruction& instruction) {
  for (const char* way : {"rni", "rzi", "rmi", "rpi"}) {
    if (instruction.has(way)) return true;
  }
  return false;
}

/// Float to integer; the register of the result may be wider than its type.
Handler to_integer(const Instruction& instruction, PtxType from, PtxType to, uint32_t to_bytes) {
  return for_way(way_of(instruction, f::To::zero), [&]<f::To way>() -> Handler {
    return for_floats(from, [&]<class A>() -> Handler {
      return for_exact(to, [&]<class D>() -> Handler {
        return for_register(to_bytes, [&]<class T>() -> Handler {
          if constexpr (sizeof(T) >= sizeof(D)) return &unary<T, A, f::ToInteger<D, way>>;
          return nullptr;
        });
      });
    });
  });
}

Handler integer_to_float(PtxType from, PtxType to) {
  return for_integers(from, [&]<class A>() -> Handler {
    return for_floats(to, [&]<class D>() -> Handler { return &unary<D, A, f::Convert>; });
  });
}

Handler float_to_float(const Instruction& instruction, PtxType from, PtxType to) {
  if (from.bytes != to.bytes) {
    return to.bytes == 4 ? Handler(&unary<float, double, f::Convert>)
                         : Handler(&unary<double, float, f::Convert>);
  }
  if (rounds_to_whole(instruction)) {
    return for_way(way_of(instruction, f::To::nearest), [&]<f::To way>() -> Handler {
      return for_floats(to, []<class T>() -> Handler { return &unary<T, T, f::Round<way>>; });
    });
  }
  const bool saturate = instruction.has("sat");
  if (instruction.has("ftz")) {
    return saturate ? Handler(&unary<float, float, f::Saturated<f::Flushed<f::Move>>>)
                    : Handler(&unary<float, float, f::Flushed<f::Move>>);
  }
  return for_floats(to, [&]<class T>() -> Handler {
    return saturate ? Handler(&unary<T, T, f::Saturated<f::Move>>) : Handler(&unary<T, T, f::Move>);
  });
}

template <class Format, bool to_zero, bool rectify>
struct ToNarrow {
  uint16_t operator()(float a) const {
    const uint16_t value = to_zero ? Format::narrow_to_zero(a) : Format::narrow(a);
    return rectify && !(a > 0) ? uint16_t{0} : value;
  }
  /// A pair: the first operand goes to the upper half.
  uint32_t operator()(float a, float b) const { return static_cast<uint32_t>((*this)(a)) << 16 | (*this)(b); }
};

template <class Format>
struct FromNarrow {
  float operator()(uint16_t a) const { return Format::wide(a); }
};

template <class Format>
struct FromDouble {
  uint16_t operator()(double a) const { return Format::narrow(f::round_to_odd(a)); }
};

template <class Format, f::To way>
struct RoundNarrow {
  uint16_t operator()(uint16_t a) const { return Format::narrow(f::to_whole(Format::wide(a), way)); }
};

template <class Format>
Handler to_narrow(const Instruction& instruction) {
  const auto choose = [&]<class F>() -> Handler {
    return instruction.types.at(0).parts == 2 ? Handler(&binary<uint32_t, float, float, F>)
                                              : Handler(&unary<uint16_t, float, F>);
  };
  const bool zero = instruction.has("rz"), rectify = instruction.has("relu");
  if (zero)
    return rectify ? choose.template operator()<ToNarrow<Format, true, true>>()
                   : choose.template operator()<ToNarrow<Format, true, false>>();
  return rectify ? choose.template operator()<ToNarrow<Format, false, true>>()
                 : choose.template operator()<ToNarrow<Format, false, false>>();
}

/// Rounds to 10 bits of mantissa, ties away from zero, as cvt.rna.tf32 does.
struct ToTensorFloat {
  uint32_t operator()(float a) const { return (std::bit_cast<uint32_t>(a) + 0x1000) & ~uint32_t{0x1fff}; }
};

/// Conversions that need one operation; null for those that go by way of another type.
Handler direct(const Instruction& instruction, PtxType from, uint32_t from_bytes, PtxType to,
               uint32_t to_bytes) {
  if (to.kind == 't')
    return instruction.has("rna") ? Handler(&unary<uint32_t, float, ToTensorFloat>) : nullptr;
  if (is_integer(from) && is_integer(to))
    return resize_handler(from, from_bytes, to, to_bytes, instruction.has("sat"));
  if (from.kind == 'f' && is_integer(to)) return to_integer(instruction, from, to, to_bytes);
  if (from.kind == 'f' && to.kind == 'f') return float_to_float(instruction, from, to);
  const bool half = to.kind == 'g';
  if (is_narrow(to) && from.kind == 'f' && from.bytes == 4) {
    return half ? to_narrow<f::Half>(instruction) : to_narrow<f::Bfloat>(instruction);
  }
  if (is_narrow(to) && from.kind == 'f') {
    return half ? Handler(&unary<uint16_t, double, FromDouble<f::Half>>)
                : Handler(&unary<uint16_t, double, FromDouble<f::Bfloat>>);
  }
  if (is_narrow(from) && to.kind == 'f' && to.bytes == 4) {
    return from.kind == 'g' ? Handler(&unary<float, uint16_t, FromNarrow<f::Half>>)
                            : Handler(&unary<float, uint16_t, FromNarrow<f::Bfloat>>);
  }
  if (is_narrow(from) && from.kind == to.kind && rounds_to_whole(instruction)) {
    return for_way(way_of(instruction, f::To::nearest), [&]<f::To way>() -> Handler {
      return half ? Handler(&unary<uint16_t, uint16_t, RoundNarrow<f::Half, way>>)
                  : Handler(&unary<uint16_t, uint16_t, RoundNarrow<f::Bfloat, way>>);
    });
  }
  return nullptr;
}

/// Conversion in two steps: `between` is an exact image of the source.
void two_steps(Compiler& compiler, const Instruction& instruction, Operation operation, PtxType from,
               uint32_t from_bytes, PtxType to, uint32_t to_bytes) {
  PtxType between{4, 'f', 1};
  if (is_integer(from)) between = {static_cast<uint8_t>(std::max<uint32_t>(from.bytes, 4)), from.kind, 1};
  const uint32_t place = compiler.allocate(32 * between.bytes), target = operation.d;
  operation.d = place;
  Instruction plain = instruction;
  plain.modifiers.clear();
  compiler.emit(operation, direct(plain, from, from_bytes, between, between.bytes), instruction);
  operation.d = target;
  operation.a = place;
  if (is_integer(from) && to.kind == 'f') {
    compiler.emit(operation, integer_to_float(between, to), instruction);
    return;
  }
  if (is_integer(from)) {
    // Integers become halves by way of 64-bit floats, which hold those of 32 bits exactly.
    if (between.bytes > 4) instruction.reject("from 64 bits to 16 is not simulated");
    const uint32_t wide = compiler.allocate(32 * 8);
    operation.d = wide;
    compiler.emit(operation, integer_to_float(between, {8, 'f', 1}), instruction);
    operation.a = wide;
    operation.d = target;
    between = {8, 'f', 1};
  }
  compiler.emit(operation, direct(instruction, between, between.bytes, to, to_bytes), instruction);
}

}  // namespace

bool compile_convert(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name != "cvt") return false;
  if (instruction.types.size() != 2) instruction.reject("two types are needed");
  const PtxType to = instruction.types[0], from = instruction.types[1];
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), from);
  if (to.parts == 2) operation.b = compiler.source(instruction, instruction.operands.at(2), from);
  const PtxRegister* source = compiler.find_register(instruction.operands[1]);
  const PtxRegister* target = compiler.find_register(instruction.operands[0]);
  const uint32_t from_bytes = source == nullptr ? std::max<uint32_t>(from.bytes, 2) : source->bytes;
  const uint32_t to_bytes = target == nullptr ? std::max<uint32_t>(to.bytes, 2) : target->bytes;
  Handler handler = direct(instruction, from, from_bytes, to, to_bytes);
  const bool exact = is_integer(from) && to.kind == 'f' && from.bytes >= 4 && from_bytes == from.bytes;
  if (handler == nullptr && exact) handler = integer_to_float(from, to);
  if (handler == nullptr) {
    two_steps(compiler, instruction, operation, from, from_bytes, to, to_bytes);
    return true;
  }
  const bool directed =
      to.kind == 'f' && (instruction.has("rz") || instruction.has("rm") || instruction.has("rp"));
  if (directed) {
    operation.inner = handler;
    handler = instruction.has("rz")   ? Handler(&rounded<_MM_ROUND_TOWARD_ZERO>)
              : instruction.has("rm") ? Handler(&rounded<_MM_ROUND_DOWN>)
                                      : Handler(&rounded<_MM_ROUND_UP>);
  }
  compiler.emit(operation, handler, instruction);
  return true;
}

}  // namespace simgpu
