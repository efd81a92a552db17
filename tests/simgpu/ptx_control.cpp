// Branches, barriers, calls and the end.
#include <tern/tests/simgpu/device_text.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {

void synchronize_warp(Warp& warp, const Operation& operation);

namespace {

void do_nothing(Warp&, const Operation&) {}

void trap(Warp& warp, const Operation& operation) { fault(warp, operation, cudaErrorLaunchFailure, "trap"); }

void compile_bra(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name == "brx") {
    Operation operation = compiler.guarded_operation();
    operation.a = compiler.source(instruction, instruction.operands.at(0), {4, 'u', 1});
    compiler.emit_step(operation, Step::table, instruction);
    compiler.table_to(instruction.operands.at(1));
    return;
  }
  compiler.emit_step(compiler.guarded_operation(), Step::branch, instruction);
  compiler.branch_to(instruction.operands.at(0));
}

void compile_ret(Compiler& compiler, const Instruction& instruction) {
  const bool returns = instruction.name == "ret" && !compiler.return_label().empty();
  compiler.emit_step(compiler.guarded_operation(), returns ? Step::branch : Step::exit, instruction);
  if (returns) compiler.branch_to(compiler.return_label());
}

/// barrier.red: operands are the result, the barrier, perhaps a number of threads, and the predicate.
void reduction(Compiler& compiler, const Instruction& instruction, Operation& operation) {
  const PtxType word{4, 'u', 1};
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.b = compiler.source(instruction, instruction.operands.at(1), word);
  if (instruction.operands.size() == 4)
    operation.c = compiler.source(instruction, instruction.operands[2], word);
  bool negated = false;
  operation.a = compiler.predicate(instruction, instruction.operands.back(), negated);
  operation.flag = negated ? 1 : 0;
  operation.count = instruction.has("popc") ? 0 : instruction.has("or") ? 1 : 2;
  compiler.emit_step(operation, Step::reduction, instruction);
}

void compile_barrier(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const PtxType word{4, 'u', 1};
  if (instruction.has("cluster") || instruction.has("arrive"))
    instruction.reject("this barrier is not simulated");
  if (instruction.has("warp")) {
    operation.e = compiler.source(instruction, instruction.operands.at(0), word);
    compiler.emit(operation, &synchronize_warp, instruction);
    return;
  }
  if (instruction.has("red")) return reduction(compiler, instruction, operation);
  operation.b = compiler.source(instruction, instruction.operands.at(0), word);
  if (instruction.operands.size() > 1)
    operation.c = compiler.source(instruction, instruction.operands[1], word);
  compiler.emit_step(operation, Step::barrier, instruction);
}

std::vector<std::string> in_parentheses(const std::string& operand) {
  return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

void compile_call(Compiler& compiler, const Instruction& instruction) {
  if (compiler.guarded_operation().guard != 0) instruction.reject("guarded calls are not simulated");
  std::vector<std::string> operands = instruction.operands, results, arguments;
  if (operands.at(0)[0] == '(') {
    results = in_parentheses(operands[0]);
    operands.erase(operands.begin());
  }
  if (operands.at(0)[0] == '%') instruction.reject("calls of pointers are not simulated");
  if (operands.size() > 1) arguments = in_parentheses(operands[1]);
  const std::string& name = operands[0];
  if (name == "vprintf" || name == "__assertfail") {
    Operation operation = compiler.guarded_operation();
    for (size_t index = 0; index < arguments.size() && index < 4; ++index) {
      operation.v[index] = static_cast<uint32_t>(compiler.local_offset(arguments[index]).value());
    }
    compiler.emit(operation, name == "vprintf" ? &print_from_device : &assertion_failed, instruction);
    return;
  }
  compiler.call(instruction, name, results, arguments);
}

void compile_nothing(Compiler& compiler, const Instruction& instruction) {
  compiler.emit(compiler.guarded_operation(), &do_nothing, instruction);
}

void compile_trap(Compiler& compiler, const Instruction& instruction) {
  compiler.emit(compiler.guarded_operation(), &trap, instruction);
}

}  // namespace

bool compile_control(Compiler& compiler, const Instruction& instruction) {
  using Compile = void (*)(Compiler&, const Instruction&);
  // Memory is sequentially consistent here: fences have nothing to do.
  static const std::map<std::string, Compile> known = {{"bra", &compile_bra},
                                                       {"brx", &compile_bra},
                                                       {"ret", &compile_ret},
                                                       {"exit", &compile_ret},
                                                       {"bar", &compile_barrier},
                                                       {"barrier", &compile_barrier},
                                                       {"call", &compile_call},
                                                       {"trap", &compile_trap},
                                                       {"brkpt", &compile_trap},
                                                       {"membar", &compile_nothing},
                                                       {"fence", &compile_nothing},
                                                       {"nanosleep", &compile_nothing},
                                                       {"griddepcontrol", &compile_nothing}};
  const auto found = known.find(instruction.name);
  if (found == known.end()) return false;
  found->second(compiler, instruction);
  return true;
}

}  // namespace simgpu
