// Logic, shifts and other work on bits.
#include <tern/tests/simgpu/functions.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

namespace simgpu {
namespace {

namespace f = functions;

template <class F>
void predicate_binary(Warp& warp, const Operation& operation) {
  set_predicate(warp, operation.d, F()(warp.predicate(operation.a), warp.predicate(operation.b)));
}

void predicate_not(Warp& warp, const Operation& operation) {
  set_predicate(warp, operation.d, ~warp.predicate(operation.a));
}

Handler predicate_handler(const std::string& name) {
  if (name == "and") return &predicate_binary<f::And>;
  if (name == "or") return &predicate_binary<f::Or>;
  if (name == "xor") return &predicate_binary<f::Xor>;
  if (name == "not") return &predicate_not;
  return nullptr;
}

template <class F>
Handler two(PtxType type) {
  return for_bits(type, []<class T>() -> Handler { return &binary<T, T, T, F>; });
}

template <class F>
Handler one(PtxType type) {
  return for_bits(type, []<class T>() -> Handler { return &unary<T, T, F>; });
}

template <class F>
Handler shift(PtxType type) {
  return for_integers(type, []<class T>() -> Handler { return &binary<T, T, uint32_t, F>; });
}

template <class F>
Handler wide_count(PtxType type) {
  return for_integers(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) >= 4) return &unary<uint32_t, T, F>;
    return nullptr;
  });
}

Handler logic(const Instruction& instruction) {
  const std::string& name = instruction.name;
  const PtxType type = instruction.type;
  if (type.kind == 'p') return predicate_handler(name);
  if (name == "and") return two<f::And>(type);
  if (name == "or") return two<f::Or>(type);
  if (name == "xor") return two<f::Xor>(type);
  if (name == "not") return one<f::Not>(type);
  if (name == "cnot") return one<f::LogicalNot>(type);
  if (name == "shl") return shift<f::ShiftLeft>({type.bytes, 'b', 1});
  return shift<f::ShiftRight>(type);
}

using U = uint32_t;

Handler funnel(const Instruction& instruction) {
  const bool left = instruction.has("l"), clamp = instruction.has("clamp");
  if (left) {
    return clamp ? Handler(&ternary<U, U, U, U, f::FunnelShift<true, true>>)
                 : Handler(&ternary<U, U, U, U, f::FunnelShift<true, false>>);
  }
  return clamp ? Handler(&ternary<U, U, U, U, f::FunnelShift<false, true>>)
               : Handler(&ternary<U, U, U, U, f::FunnelShift<false, false>>);
}

Handler counting(const Instruction& instruction) {
  const std::string& name = instruction.name;
  const PtxType bits{instruction.type.bytes, 'b', 1};
  if (name == "clz") {
    return bits.bytes == 4 ? Handler(&unary<U, U, f::LeadingZeros>)
                           : Handler(&unary<U, uint64_t, f::LeadingZeros>);
  }
  if (name == "popc") {
    return bits.bytes == 4 ? Handler(&unary<U, U, f::CountBits>) : Handler(&unary<U, uint64_t, f::CountBits>);
  }
  if (name == "brev") {
    return bits.bytes == 4 ? Handler(&unary<U, U, f::ReverseBits>)
                           : Handler(&unary<uint64_t, uint64_t, f::ReverseBits>);
  }
  return instruction.has("shiftamt") ? wide_count<f::FindBit<true>>(instruction.type)
                                     : wide_count<f::FindBit<false>>(instruction.type);
}

Handler extract(PtxType type) {
  return for_integers(type, []<class T>() -> Handler { return &ternary<T, T, U, U, f::ExtractBits>; });
}

Handler insert(PtxType type) {
  if (type.bytes == 4) return &quaternary<U, U, U, U, U, f::InsertBits>;
  return &quaternary<uint64_t, uint64_t, uint64_t, U, U, f::InsertBits>;
}

/// The instruction's operands by their types, and its handler.
struct Plan {
  Handler handler = nullptr;
  PtxType a, b, c, e;
};

Plan plan(const Instruction& instruction) {
  const std::string& name = instruction.name;
  const PtxType type = instruction.type, word{4, 'b', 1};
  if (name == "shl" || name == "shr") return {logic(instruction), type, word, {}, {}};
  if (name == "and" || name == "or" || name == "xor") return {logic(instruction), type, type, {}, {}};
  if (name == "not" || name == "cnot") return {logic(instruction), type, {}, {}, {}};
  if (name == "shf") return {funnel(instruction), word, word, word, {}};
  if (name == "clz" || name == "popc" || name == "brev" || name == "bfind") {
    return {counting(instruction), type, {}, {}, {}};
  }
  if (name == "bfe") return {extract(type), type, word, word, {}};
  if (name == "bfi") return {insert(type), type, type, word, word};
  if (name == "bmsk") return {&binary<U, U, U, f::BitMask>, word, word, {}, {}};
  if (name == "prmt" && instruction.modifiers.size() == 1) {
    return {&ternary<U, U, U, U, f::Permute>, word, word, word, {}};
  }
  if (name == "lop3" && instruction.modifiers.size() == 1) {
    return {&quaternary<U, U, U, U, U, f::Lookup3>, word, word, word, word};
  }
  return {};
}

}  // namespace

bool compile_bits(Compiler& compiler, const Instruction& instruction) {
  const Plan chosen = plan(instruction);
  if (chosen.handler == nullptr) return false;
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  uint32_t* const places[] = {&operation.a, &operation.b, &operation.c, &operation.e};
  const PtxType types[] = {chosen.a, chosen.b, chosen.c, chosen.e};
  for (size_t index = 0; index < 4 && types[index].bytes != 0; ++index) {
    *places[index] = compiler.source(instruction, instruction.operands.at(index + 1), types[index]);
  }
  compiler.emit(operation, chosen.handler, instruction);
  return true;
}

}  // namespace simgpu
