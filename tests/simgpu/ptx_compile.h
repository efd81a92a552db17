// From PTX statements to the operations of warp.h. The Compiler knows names and makes operands; each family
// of instructions has a function that decodes its own. What no family knows is an error, which a launch of
// the kernel reports.
#pragma once

#include <tern/tests/simgpu/warp.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

namespace simgpu {

/// An instruction, cut into its parts.
struct Instruction {
  std::string text, name;  // all of it; the opcode before the first point
  std::vector<std::string> modifiers, operands;
  PtxType type;  // the last modifier that is a type
  std::vector<PtxType> types;
  int line = 0;

  bool has(std::string_view modifier) const;
  bool has_prefix(std::string_view start) const;
  [[noreturn]] void reject(const std::string& why) const;
};

struct PtxRegister {
  uint32_t offset = 0;
  PtxType type;
  uint32_t bytes = 0;  // of a lane
};

/// An operand in brackets: a register and an offset, or a fixed address.
struct Address {
  uint32_t offset = 0;  // of the register with the address
  bool is_wide = true;  // 64 bits
  bool is_fixed = false;
  int64_t immediate = 0;
};

using GlobalAddresses = std::map<std::string, uint64_t>;

class Compiler {
 public:
  Compiler(const PtxModule& module, const GlobalAddresses& globals) : module_(module), globals_(globals) {}

  std::shared_ptr<Kernel> compile(const PtxFunction& function);

  // For the families:

  /// The register file's offset of an operand to read: a register, a number, an address or a special
  /// register.
  uint32_t source(const Instruction& instruction, const std::string& operand, PtxType type);
  /// Also "!%p1", which sets `negated`.
  uint32_t predicate(const Instruction& instruction, std::string operand, bool& negated);
  /// The offset of a register to write; `_` discards.
  uint32_t target(const Instruction& instruction, const std::string& operand);
  const PtxRegister* find_register(const std::string& name) const;
  Address address(const Instruction& instruction, const std::string& operand);
  /// A register's place that holds the same value in all lanes.
  uint32_t constant(uint32_t bytes, uint64_t value);
  uint32_t allocate(uint32_t bytes);
  uint32_t new_cache() { return kernel_->caches++; }
  bool is_kernel_parameter(const std::string& name) const { return kernel_parameters_.contains(name); }
  void emit(Operation operation, Handler handler, const Instruction& instruction);
  void emit_step(Operation operation, Step step, const Instruction& instruction);
  /// Sends the operation emitted last to a label that may come later.
  void branch_to(const std::string& label);
  void table_to(const std::string& name);
  Operation guarded_operation() const { return guard_; }
  Kernel& kernel() { return *kernel_; }
  const PtxModule& module() const { return module_; }
  /// Inlines a call of the function; its parameters are variables in local memory.
  void call(const Instruction& instruction, const std::string& name, const std::vector<std::string>& results,
            const std::vector<std::string>& arguments);
  /// Inside an inlined function: where `ret` goes. Empty in a kernel.
  const std::string& return_label() const { return return_label_; }
  /// Local memory's offset of a variable.
  std::optional<uint64_t> local_offset(const std::string& name) const;

 private:
  struct Scope {
    std::unordered_map<std::string, PtxRegister> registers;
    std::unordered_map<std::string, uint64_t> symbols;  // shared and local variables' offsets
    std::unordered_map<std::string, std::vector<std::string>> tables;
  };
  void parameters(const PtxFunction& function);
  void shared_variables(const PtxFunction& function);
  void body(const PtxFunction& function);
  void statement(const PtxStatement& statement);
  void directive(const std::string& text, int line);
  void declare_registers(const std::string& text, int line);
  void declare_local(const PtxVariable& variable);
  void branch_table(const std::string& text, int line);
  void instruction(const std::string& text);
  std::string take_guard(const std::string& text, const Instruction& instruction);
  void resolve_labels();
  std::string scoped_label(const std::string& label) const { return label + prefix_; }
  std::optional<uint64_t> symbol(const std::string& name) const;
  uint32_t special(const std::string& name);
  uint32_t lane_masks(const std::string& name);
  uint64_t number(const Instruction& instruction, const std::string& operand);

  const PtxModule& module_;
  const GlobalAddresses& globals_;
  std::shared_ptr<Kernel> kernel_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, uint32_t> labels_;
  std::vector<std::pair<uint32_t, std::string>> branches_;
  std::vector<std::vector<std::string>> table_labels_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> constants_;
  std::map<std::string, uint64_t> kernel_parameters_;
  std::map<std::string, uint64_t> shared_;
  Operation guard_;
  std::string return_label_, prefix_;  // the prefix sets the labels of inlined calls apart
  std::string last_label_;
  int calls_ = 0, depth_ = 0;
  PtxStatement current_;
};

// The families. False: the instruction is none of theirs.
bool compile_integer(Compiler& compiler, const Instruction& instruction);
bool compile_carry(Compiler& compiler, const Instruction& instruction);
bool compile_bits(Compiler& compiler, const Instruction& instruction);
bool compile_float(Compiler& compiler, const Instruction& instruction);
bool compile_half(Compiler& compiler, const Instruction& instruction);
bool compile_compare(Compiler& compiler, const Instruction& instruction);
bool compile_convert(Compiler& compiler, const Instruction& instruction);
bool compile_move(Compiler& compiler, const Instruction& instruction);
bool compile_memory(Compiler& compiler, const Instruction& instruction);
bool compile_atomic(Compiler& compiler, const Instruction& instruction);
bool compile_warp(Compiler& compiler, const Instruction& instruction);
bool compile_control(Compiler& compiler, const Instruction& instruction);
bool compile_async(Compiler& compiler, const Instruction& instruction);
bool compile_matrix(Compiler& compiler, const Instruction& instruction);

}  // namespace simgpu
