// Comparisons and choices.
#include <tern/tests/simgpu/functions_half.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

namespace simgpu {
namespace {

namespace f = functions;

/// How setp joins its comparison with a predicate.
enum Join : uint8_t { alone, with_and, with_or, with_xor };

uint32_t joined(uint32_t value, uint32_t other, uint8_t how) {
  switch (how) {
    case with_and:
      return value & other;
    case with_or:
      return value | other;
    case with_xor:
      return value ^ other;
    default:
      return value;
  }
}

template <class F, class T>
uint32_t compare_lanes(const T* a, const T* b) {
  uint8_t holds[32];
  for (uint32_t lane = 0; lane < 32; ++lane) holds[lane] = F()(a[lane], b[lane]) ? 1 : 0;
  uint32_t mask = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) mask |= static_cast<uint32_t>(holds[lane]) << lane;
  return mask;
}

uint32_t other_predicate(Warp& warp, const Operation& operation) {
  if (operation.flag == alone) return 0;
  const uint32_t other = warp.predicate(operation.c);
  return operation.count != 0 ? ~other : other;
}

template <class T, class F>
void set_predicates(Warp& warp, const Operation& operation) {
  const uint32_t holds = compare_lanes<F>(warp.lanes<T>(operation.a), warp.lanes<T>(operation.b));
  const uint32_t other = other_predicate(warp, operation);
  if (operation.e != 0) set_predicate(warp, operation.e, joined(~holds, other, operation.flag));
  set_predicate(warp, operation.d, joined(holds, other, operation.flag));
}

/// For pairs of halves: one predicate for each half.
template <class F>
void set_pair(Warp& warp, const Operation& operation) {
  const uint32_t *a = warp.lanes<uint32_t>(operation.a), *b = warp.lanes<uint32_t>(operation.b);
  uint16_t parts[4][32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    parts[0][lane] = static_cast<uint16_t>(a[lane]);
    parts[1][lane] = static_cast<uint16_t>(b[lane]);
    parts[2][lane] = static_cast<uint16_t>(a[lane] >> 16);
    parts[3][lane] = static_cast<uint16_t>(b[lane] >> 16);
  }
  const uint32_t other = other_predicate(warp, operation);
  if (operation.e != 0)
    set_predicate(warp, operation.e, joined(compare_lanes<F>(parts[2], parts[3]), other, operation.flag));
  set_predicate(warp, operation.d, joined(compare_lanes<F>(parts[0], parts[1]), other, operation.flag));
}

/// set: ones or 1.0 in a register instead of a predicate.
template <class T, class F, class D>
void set_value(Warp& warp, const Operation& operation) {
  const uint32_t holds = joined(compare_lanes<F>(warp.lanes<T>(operation.a), warp.lanes<T>(operation.b)),
                                other_predicate(warp, operation), operation.flag);
  D result[32];
  const D yes = static_cast<D>(operation.immediate);
  for (uint32_t lane = 0; lane < 32; ++lane) result[lane] = (holds >> lane & 1) != 0 ? yes : D{0};
  store_lanes(warp, operation.d, result);
}

/// set for pairs of halves, whose result has a half for each.
template <class F>
void set_value_pair(Warp& warp, const Operation& operation) {
  const uint32_t *a = warp.lanes<uint32_t>(operation.a), *b = warp.lanes<uint32_t>(operation.b);
  const auto yes = static_cast<uint32_t>(operation.immediate);
  uint32_t result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const bool low = F()(static_cast<uint16_t>(a[lane]), static_cast<uint16_t>(b[lane]));
    const bool high = F()(static_cast<uint16_t>(a[lane] >> 16), static_cast<uint16_t>(b[lane] >> 16));
    result[lane] = (low ? yes & 0xffff : 0) | (high ? yes & 0xffff0000 : 0);
  }
  store_lanes(warp, operation.d, result);
}

enum class Result { predicate, pair, word, half, word_pair };

template <class F>
Handler for_halves(char kind, Result result) {
  const auto choose = [&]<class G>() -> Handler {
    switch (result) {
      case Result::predicate:
        return &set_predicates<uint16_t, G>;
      case Result::pair:
        return &set_pair<G>;
      case Result::word:
        return &set_value<uint16_t, G, uint32_t>;
      case Result::half:
        return &set_value<uint16_t, G, uint16_t>;
      default:
        return &set_value_pair<G>;
    }
  };
  return kind == 'g' ? choose.template operator()<f::NarrowCompare<f::Half, F>>()
                     : choose.template operator()<f::NarrowCompare<f::Bfloat, F>>();
}

template <class F>
Handler comparison(PtxType type, Result result) {
  if (type.kind == 'g' || type.kind == 'h') return for_halves<F>(type.kind, result);
  return for_numbers(type, [&]<class T>() -> Handler {
    if (result == Result::predicate) return &set_predicates<T, F>;
    if (result == Result::word) return &set_value<T, F, uint32_t>;
    return nullptr;
  });
}

Handler choose(const std::string& name, PtxType type, Result result) {
  using Choose = Handler (*)(PtxType, Result);
  static const std::map<std::string, Choose> choices = {
      {"eq", &comparison<f::Equal>},        {"ne", &comparison<f::Unequal>},
      {"lt", &comparison<f::Less>},         {"le", &comparison<f::LessEqual>},
      {"gt", &comparison<f::Greater>},      {"ge", &comparison<f::GreaterEqual>},
      {"lo", &comparison<f::Less>},         {"ls", &comparison<f::LessEqual>},
      {"hi", &comparison<f::Greater>},      {"hs", &comparison<f::GreaterEqual>},
      {"equ", &comparison<f::EqualU>},      {"neu", &comparison<f::UnequalU>},
      {"ltu", &comparison<f::LessU>},       {"leu", &comparison<f::LessEqualU>},
      {"gtu", &comparison<f::GreaterU>},    {"geu", &comparison<f::GreaterEqualU>},
      {"num", &comparison<f::BothNumbers>}, {"nan", &comparison<f::SomeNan>}};
  const auto found = choices.find(name);
  return found == choices.end() ? nullptr : found->second(type, result);
}

void common_operands(Compiler& compiler, const Instruction& instruction, Operation& operation) {
  operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  operation.b = compiler.source(instruction, instruction.operands.at(2), instruction.type);
  if (instruction.operands.size() < 4) return;
  bool negated = false;
  operation.c = compiler.predicate(instruction, instruction.operands[3], negated);
  operation.count = negated ? 1 : 0;
  operation.flag = instruction.has("and") ? with_and : instruction.has("or") ? with_or : with_xor;
}

void compile_setp(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const std::vector<std::string> targets = split(instruction.operands.at(0), '|');
  operation.d = compiler.target(instruction, targets[0]);
  if (targets.size() > 1) operation.e = compiler.target(instruction, targets[1]);
  common_operands(compiler, instruction, operation);
  const Result result = instruction.type.parts == 2 ? Result::pair : Result::predicate;
  compiler.emit(operation, choose(instruction.modifiers.at(0), instruction.type, result), instruction);
}

/// What "true" is in the result's type.
int64_t truth(PtxType result) {
  if (result.kind == 'f') return 0x3f800000;
  if (result.kind == 'g') return 0x3c003c00;
  if (result.kind == 'h') return 0x3f803f80;
  return 0xffffffff;
}

void compile_set(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  common_operands(compiler, instruction, operation);
  const PtxType to = instruction.types.at(0);
  operation.immediate = truth(to);
  const Result result = instruction.type.parts == 2 ? Result::word_pair
                        : to.bytes == 2             ? Result::half
                                                    : Result::word;
  compiler.emit(operation, choose(instruction.modifiers.at(0), instruction.type, result), instruction);
}

template <class T>
void select(Warp& warp, const Operation& operation) {
  const T *a = warp.lanes<T>(operation.a), *b = warp.lanes<T>(operation.b);
  const uint32_t condition = warp.predicate(operation.c);
  T result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) result[lane] = (condition >> lane & 1) != 0 ? a[lane] : b[lane];
  store_lanes(warp, operation.d, result);
}

void compile_selp(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  bool negated = false;
  operation.c = compiler.predicate(instruction, instruction.operands.at(3), negated);
  operation.a = compiler.source(instruction, instruction.operands[negated ? 2 : 1], instruction.type);
  operation.b = compiler.source(instruction, instruction.operands[negated ? 1 : 2], instruction.type);
  compiler.emit(operation, for_bits(instruction.type, []<class T>() -> Handler { return &select<T>; }),
                instruction);
}

struct SelectBySign {
  template <class T, class C>
  T operator()(T a, T b, C c) const {
    return c >= 0 ? a : b;
  }
};

void compile_slct(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const PtxType value = instruction.types.at(0);
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), value);
  operation.b = compiler.source(instruction, instruction.operands.at(2), value);
  operation.c = compiler.source(instruction, instruction.operands.at(3), instruction.type);
  const Handler handler = for_bits(value, [&]<class T>() -> Handler {
    return instruction.type.kind == 'f' ? Handler(&ternary<T, T, T, float, SelectBySign>)
                                        : Handler(&ternary<T, T, T, int32_t, SelectBySign>);
  });
  compiler.emit(operation, handler, instruction);
}

template <class T>
void test_property(Warp& warp, const Operation& operation) {
  const T* a = warp.lanes<T>(operation.a);
  uint32_t holds = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const int kind = std::fpclassify(a[lane]);
    const bool results[] = {
        kind != FP_INFINITE && kind != FP_NAN, kind == FP_INFINITE, kind != FP_NAN, kind == FP_NAN,
        kind == FP_NORMAL || kind == FP_ZERO,  kind == FP_SUBNORMAL};
    holds |= static_cast<uint32_t>(results[operation.flag]) << lane;
  }
  set_predicate(warp, operation.d, holds);
}

void compile_testp(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  const std::string names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  const auto* found = std::find(std::begin(names), std::end(names), instruction.modifiers.at(0));
  operation.flag = static_cast<uint8_t>(found - std::begin(names));
  compiler.emit(operation,
                for_floats(instruction.type, []<class T>() -> Handler { return &test_property<T>; }),
                instruction);
}

}  // namespace

bool compile_compare(Compiler& compiler, const Instruction& instruction) {
  using Compile = void (*)(Compiler&, const Instruction&);
  static const std::map<std::string, Compile> known = {{"setp", &compile_setp},
                                                       {"set", &compile_set},
                                                       {"selp", &compile_selp},
                                                       {"slct", &compile_slct},
                                                       {"testp", &compile_testp}};
  const auto found = known.find(instruction.name);
  if (found == known.end()) return false;
  found->second(compiler, instruction);
  return true;
}

}  // namespace simgpu
