// Arithmetic on numbers of 32 and 64 bits.
#include <tern/tests/simgpu/functions_float.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <functional>

namespace simgpu {
namespace {

namespace f = functions;

/// F plain, flushed, saturated or both, as the instruction says.
template <class F>
Handler one(const Instruction& instruction) {
  const bool flush = instruction.has("ftz") && instruction.type.bytes == 4;
  if (flush) return &unary<float, float, f::Flushed<F>>;
  return for_floats(instruction.type, []<class T>() -> Handler { return &unary<T, T, F>; });
}

/// The same for functions that exist in 32 bits only.
template <class F>
Handler one_single(const Instruction& instruction) {
  if (instruction.type.bytes != 4) return nullptr;
  return instruction.has("ftz") ? Handler(&unary<float, float, f::Flushed<F>>)
                                : Handler(&unary<float, float, F>);
}

template <class F>
Handler two(const Instruction& instruction) {
  const bool flush = instruction.has("ftz"), saturate = instruction.has("sat");
  if (flush && saturate) return &binary<float, float, float, f::Saturated<f::Flushed<F>>>;
  if (flush) return &binary<float, float, float, f::Flushed<F>>;
  if (saturate) return &binary<float, float, float, f::Saturated<F>>;
  return for_floats(instruction.type, []<class T>() -> Handler { return &binary<T, T, T, F>; });
}

template <class F>
Handler three(const Instruction& instruction) {
  const bool flush = instruction.has("ftz"), saturate = instruction.has("sat");
  if (flush && saturate) return &ternary<float, float, float, float, f::Saturated<f::Flushed<F>>>;
  if (flush) return &ternary<float, float, float, float, f::Flushed<F>>;
  if (saturate) return &ternary<float, float, float, float, f::Saturated<F>>;
  return for_floats(instruction.type, []<class T>() -> Handler { return &ternary<T, T, T, T, F>; });
}

template <class F>
Handler extreme(const Instruction& instruction) {
  if (instruction.has("xorsign") || instruction.has("abs")) return nullptr;
  return instruction.has("NaN") ? two<f::WithNan<F>>(instruction) : two<F>(instruction);
}

using Choose = Handler (*)(const Instruction&);

const std::map<std::string, Choose>& choices() {
  static const auto& result = *new std::map<std::string, Choose>{
      {"add", &two<f::Add>},
      {"sub", &two<f::Subtract>},
      {"mul", &two<f::Multiply>},
      {"div", &two<f::Divide>},
      {"min", &extreme<f::Minimum>},
      {"max", &extreme<f::Maximum>},
      {"copysign", &two<f::CopySign>},
      {"fma", &three<f::FusedMultiplyAdd>},
      {"mad", &three<f::FusedMultiplyAdd>},
      {"abs", &one<f::Absolute>},
      {"neg", &one<f::Negate>},
      {"rcp", &one<f::Reciprocal>},
      {"sqrt", &one<f::SquareRoot>},
      {"rsqrt", &one<f::ReciprocalRoot>},
      {"ex2", &one_single<f::Exponential2>},
      {"lg2", &one_single<f::Logarithm2>},
      {"sin", &one_single<f::Sine>},
      {"cos", &one_single<f::Cosine>},
      {"tanh", &one_single<f::HyperbolicTangent>},
  };
  return result;
}

/// Another rounding than to nearest is the processor's work.
void set_rounding(Operation& operation, Handler& handler, const Instruction& instruction) {
  if (handler == nullptr) return;
  Handler wrapper = nullptr;
  if (instruction.has("rz")) wrapper = &rounded<_MM_ROUND_TOWARD_ZERO>;
  if (instruction.has("rm")) wrapper = &rounded<_MM_ROUND_DOWN>;
  if (instruction.has("rp")) wrapper = &rounded<_MM_ROUND_UP>;
  if (wrapper == nullptr) return;
  operation.inner = handler;
  handler = wrapper;
}

}  // namespace

bool compile_float(Compiler& compiler, const Instruction& instruction) {
  const auto choice = choices().find(instruction.name);
  if (instruction.type.kind != 'f' || choice == choices().end()) return false;
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  uint32_t* const places[] = {&operation.a, &operation.b, &operation.c};
  for (size_t index = 1; index < instruction.operands.size() && index < 4; ++index) {
    *places[index - 1] = compiler.source(instruction, instruction.operands[index], instruction.type);
  }
  Handler handler = choice->second(instruction);
  set_rounding(operation, handler, instruction);
  compiler.emit(operation, handler, instruction);
  return true;
}

}  // namespace simgpu
