// Arithmetic on integers.
#include <tern/tests/simgpu/functions_float.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

namespace simgpu {
namespace {

namespace f = functions;

template <class F>
Handler two(PtxType type) {
  return for_integers(type, []<class T>() -> Handler { return &binary<T, T, T, F>; });
}

template <class F>
Handler three(PtxType type) {
  return for_integers(type, []<class T>() -> Handler { return &ternary<T, T, T, T, F>; });
}

template <class F>
Handler one(PtxType type) {
  return for_integers(type, []<class T>() -> Handler { return &unary<T, T, F>; });
}

template <class F>
Handler count(PtxType type) {
  return for_bits(type, []<class T>() -> Handler { return &unary<uint32_t, T, F>; });
}

/// mul and mad, whose result may be twice as wide.
Handler multiply(const Instruction& instruction) {
  const PtxType type = instruction.type;
  const bool adds = instruction.name == "mad";
  if (instruction.has("wide")) {
    if (type.bytes > 4) return nullptr;
    return for_integers(type, [&]<class T>() -> Handler {
      if constexpr (sizeof(T) <= 4) {
        using W = f::Wide<T>;
        return adds ? Handler(&ternary<W, T, T, W, f::MultiplyAddWide>)
                    : Handler(&binary<W, T, T, f::MultiplyWide>);
      } else {
        return nullptr;
      }
    });
  }
  if (instruction.has("sat")) return nullptr;
  if (instruction.has("hi")) return adds ? three<f::MultiplyAddHigh>(type) : two<f::MultiplyHigh>(type);
  return adds ? three<f::MultiplyAdd>(type) : two<f::Multiply>(type);
}

template <class A, class B>
Handler dot(const Instruction& instruction) {
  if (instruction.name == "dp4a") return &ternary<uint32_t, uint32_t, uint32_t, uint32_t, f::DotBytes<A, B>>;
  using A16 = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  return instruction.has("hi")
             ? Handler(&ternary<uint32_t, uint32_t, uint32_t, uint32_t, f::DotHalves<A16, B, true>>)
             : Handler(&ternary<uint32_t, uint32_t, uint32_t, uint32_t, f::DotHalves<A16, B, false>>);
}

Handler dot_product(const Instruction& instruction) {
  const bool a = instruction.types[0].kind == 's', b = instruction.types[1].kind == 's';
  if (a) return b ? dot<int8_t, int8_t>(instruction) : dot<int8_t, uint8_t>(instruction);
  return b ? dot<uint8_t, int8_t>(instruction) : dot<uint8_t, uint8_t>(instruction);
}

Handler saturating(const Instruction& instruction) {
  if (instruction.type.kind != 's' || instruction.type.bytes != 4) return nullptr;
  if (instruction.name == "add") return &binary<int32_t, int32_t, int32_t, f::AddClamped>;
  if (instruction.name == "sub") return &binary<int32_t, int32_t, int32_t, f::SubtractClamped>;
  return nullptr;
}

Handler choose(const Instruction& instruction) {
  const std::string& name = instruction.name;
  const PtxType type = instruction.type;
  if (instruction.has("sat")) return saturating(instruction);
  if (name == "add") return two<f::Add>(type);
  if (name == "sub") return two<f::Subtract>(type);
  if (name == "div") return two<f::Divide>(type);
  if (name == "rem") return two<f::Remainder>(type);
  if (name == "min") return two<f::Minimum>(type);
  if (name == "max") return two<f::Maximum>(type);
  if (name == "abs") return one<f::Absolute>(type);
  if (name == "neg") return one<f::Negate>(type);
  if (name == "sad") return three<f::SumOfDifferences>(type);
  if (name == "mul" || name == "mad") return multiply(instruction);
  if (name == "dp4a" || name == "dp2a") return dot_product(instruction);
  return nullptr;
}

}  // namespace

bool compile_integer(Compiler& compiler, const Instruction& instruction) {
  static const std::string_view names[] = {"add", "sub", "div", "rem", "min",  "max", "abs",
                                           "neg", "sad", "mul", "mad", "dp4a", "dp2a"};
  if (std::find(std::begin(names), std::end(names), instruction.name) == std::end(names)) return false;
  if (instruction.type.kind != 'u' && instruction.type.kind != 's' && instruction.type.kind != 'b')
    return false;
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  PtxType type = instruction.type;
  if (instruction.name == "dp4a" || instruction.name == "dp2a") type = {4, 'b', 1};
  operation.a = compiler.source(instruction, instruction.operands.at(1), type);
  if (instruction.operands.size() > 2)
    operation.b = compiler.source(instruction, instruction.operands[2], type);
  if (instruction.has("wide")) type.bytes *= 2;
  if (instruction.operands.size() > 3)
    operation.c = compiler.source(instruction, instruction.operands[3], type);
  compiler.emit(operation, choose(instruction), instruction);
  return true;
}

namespace {

/// Sums that take the carry flag in and put it out: 64 and 128 bits from parts of 32 and 64.
template <class T, bool subtract, bool in, bool out>
void add_with_carry(Warp& warp, const Operation& operation, const T* a, const T* b) {
  T result[32];
  uint32_t carries = 0;
  const uint32_t before = warp.carry;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const T carry = in ? static_cast<T>(before >> lane & 1) : T{0};
    T sum;
    bool over;
    if constexpr (subtract) {
      over = __builtin_sub_overflow(a[lane], b[lane], &sum);
      over |= __builtin_sub_overflow(sum, carry, &sum);
    } else {
      over = __builtin_add_overflow(a[lane], b[lane], &sum);
      over |= __builtin_add_overflow(sum, carry, &sum);
    }
    result[lane] = sum;
    carries |= static_cast<uint32_t>(over) << lane;
  }
  if (out) warp.carry = (before & ~warp.mask) | (carries & warp.mask);
  store_lanes(warp, operation.d, result);
}

template <class T, bool subtract, bool in, bool out>
void carry_sum(Warp& warp, const Operation& operation) {
  add_with_carry<T, subtract, in, out>(warp, operation, warp.lanes<T>(operation.a),
                                       warp.lanes<T>(operation.b));
}

template <class T, bool high, bool in, bool out>
void carry_product(Warp& warp, const Operation& operation) {
  const T *a = warp.lanes<T>(operation.a), *b = warp.lanes<T>(operation.b);
  T products[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    products[lane] = high ? f::MultiplyHigh()(a[lane], b[lane]) : f::Multiply()(a[lane], b[lane]);
  }
  add_with_carry<T, false, in, out>(warp, operation, products, warp.lanes<T>(operation.c));
}

template <class T, bool in, bool out>
Handler carry_handler(const Instruction& instruction) {
  const std::string& name = instruction.name;
  if (name == "add" || name == "addc") return &carry_sum<T, false, in, out>;
  if (name == "sub" || name == "subc") return &carry_sum<T, true, in, out>;
  // The high half of a signed product differs from an unsigned one's.
  if (instruction.has("hi")) {
    if (instruction.type.kind == 's') return nullptr;
    return &carry_product<T, true, in, out>;
  }
  return &carry_product<T, false, in, out>;
}

template <class T>
Handler carry_handler(const Instruction& instruction, bool in, bool out) {
  if (in) return out ? carry_handler<T, true, true>(instruction) : carry_handler<T, true, false>(instruction);
  return carry_handler<T, false, true>(instruction);
}

}  // namespace

bool compile_carry(Compiler& compiler, const Instruction& instruction) {
  const std::string& name = instruction.name;
  const bool in = name == "addc" || name == "subc" || name == "madc", out = instruction.has("cc");
  if (!in && !out) return false;
  if (!in && name != "add" && name != "sub" && name != "mad") return false;
  const PtxType type = instruction.type;
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), type);
  operation.b = compiler.source(instruction, instruction.operands.at(2), type);
  if (instruction.operands.size() > 3)
    operation.c = compiler.source(instruction, instruction.operands[3], type);
  const Handler handler = type.bytes == 4   ? carry_handler<uint32_t>(instruction, in, out)
                          : type.bytes == 8 ? carry_handler<uint64_t>(instruction, in, out)
                                            : nullptr;
  compiler.emit(operation, handler, instruction);
  return true;
}

}  // namespace simgpu
