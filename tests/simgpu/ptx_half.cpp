// Arithmetic on numbers of 16 bits, single and in pairs.
#include <tern/tests/simgpu/functions_half.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

namespace simgpu {
namespace {

namespace f = functions;

template <class F>
Handler one(bool pair) {
  return pair ? Handler(&unary<uint32_t, uint32_t, Halves<F>>) : Handler(&unary<uint16_t, uint16_t, F>);
}

template <class F>
Handler two(bool pair) {
  return pair ? Handler(&binary<uint32_t, uint32_t, uint32_t, Halves<F>>)
              : Handler(&binary<uint16_t, uint16_t, uint16_t, F>);
}

template <class F>
Handler three(bool pair) {
  return pair ? Handler(&ternary<uint32_t, uint32_t, uint32_t, uint32_t, Halves<F>>)
              : Handler(&ternary<uint16_t, uint16_t, uint16_t, uint16_t, F>);
}

template <class Format, class F>
Handler arithmetic(const Instruction& instruction, bool pair) {
  using N = f::Narrow<Format, F>;
  if (instruction.has("sat")) return two<f::Narrow<Format, f::Saturated<F>>>(pair);
  return two<N>(pair);
}

template <class Format>
Handler choose(const Instruction& instruction) {
  const std::string& name = instruction.name;
  const bool pair = instruction.type.parts == 2;
  if (name == "add") return arithmetic<Format, f::Add>(instruction, pair);
  if (name == "sub") return arithmetic<Format, f::Subtract>(instruction, pair);
  if (name == "mul") return arithmetic<Format, f::Multiply>(instruction, pair);
  if (name == "fma") {
    using Fused = f::NarrowFused<Format>;
    if (instruction.has("sat")) return nullptr;
    return instruction.has("relu") ? three<f::Rectified<Format, Fused>>(pair) : three<Fused>(pair);
  }
  if (name == "neg") return one<f::NarrowNegate<Format>>(pair);
  if (name == "abs") return one<f::NarrowAbsolute<Format>>(pair);
  if (instruction.has("xorsign")) return nullptr;
  const bool nan = instruction.has("NaN");
  if (name == "min") {
    return nan ? two<f::Narrow<Format, f::WithNan<f::Minimum>>>(pair)
               : two<f::Narrow<Format, f::Minimum>>(pair);
  }
  if (name == "max") {
    return nan ? two<f::Narrow<Format, f::WithNan<f::Maximum>>>(pair)
               : two<f::Narrow<Format, f::Maximum>>(pair);
  }
  if (name == "ex2") return one<f::Narrow<Format, f::Exponential2>>(pair);
  if (name == "tanh") return one<f::Narrow<Format, f::HyperbolicTangent>>(pair);
  return nullptr;
}

}  // namespace

bool compile_half(Compiler& compiler, const Instruction& instruction) {
  static const std::string_view names[] = {"add", "sub", "mul", "fma", "neg",
                                           "abs", "min", "max", "ex2", "tanh"};
  const char kind = instruction.type.kind;
  if (kind != 'g' && kind != 'h') return false;
  if (std::find(std::begin(names), std::end(names), instruction.name) == std::end(names)) return false;
  if (instruction.types.size() > 1) instruction.reject("mixed precision is not simulated");
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  uint32_t* const places[] = {&operation.a, &operation.b, &operation.c};
  for (size_t index = 1; index < instruction.operands.size() && index < 4; ++index) {
    *places[index - 1] = compiler.source(instruction, instruction.operands[index], instruction.type);
  }
  const Handler handler = kind == 'g' ? choose<f::Half>(instruction) : choose<f::Bfloat>(instruction);
  compiler.emit(operation, handler, instruction);
  return true;
}

}  // namespace simgpu
