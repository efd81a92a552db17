#include <cxxabi.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace simgpu {
namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// Registers narrower than 16 bits have 16 bits.
uint32_t register_bytes(PtxType type) { return std::max<uint32_t>(type.bytes, 2); }

Instruction parse_instruction(const std::string& text, const std::string& whole, int line) {
  Instruction result;
  result.text = whole;
  result.line = line;
  const size_t end = text.find_first_of(" \t\r\n");
  std::string opcode = text.substr(0, end);
  if (end != text.npos) result.operands = split(std::string_view(text).substr(end), ',');
  for (size_t at; (at = opcode.find("::")) != opcode.npos;) opcode.replace(at, 2, "_");
  result.modifiers = split(opcode, '.');
  result.name = result.modifiers.front();
  result.modifiers.erase(result.modifiers.begin());
  for (const std::string& modifier : result.modifiers) {
    PtxType type;
    if (parse_type(modifier, type)) result.types.push_back(type);
  }
  if (!result.types.empty()) result.type = result.types.back();
  return result;
}

}  // namespace

bool Instruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

bool Instruction::has_prefix(std::string_view start) const {
  return std::any_of(modifiers.begin(), modifiers.end(), [&](const std::string& modifier) {
    return modifier.compare(0, start.size(), start) == 0;
  });
}

void Instruction::reject(const std::string& why) const { throw PtxError(line, "`" + text + "`: " + why); }

std::shared_ptr<Kernel> Compiler::compile(const PtxFunction& function) {
  kernel_ = std::make_shared<Kernel>();
  kernel_->module = &module_;
  kernel_->name = function.name;
  kernel_->title = demangled(function.name);
  if (function.most_threads != 0) kernel_->most_threads = function.most_threads;
  scopes_.assign(1, {});
  parameters(function);
  shared_variables(function);
  body(function);
  Operation end;
  end.step = Step::exit;
  kernel_->code.push_back(end);
  kernel_->lines.push_back({"the end", function.line, 0, 0});
  resolve_labels();
  kernel_->local_bytes = static_cast<uint32_t>(round_up(kernel_->local_bytes, 16));
  return kernel_;
}

void Compiler::parameters(const PtxFunction& function) {
  uint64_t end = 0;
  for (const PtxVariable& parameter : function.parameters) {
    end = round_up(end, parameter.align);
    kernel_parameters_[parameter.name] = end;
    kernel_->parameters.push_back({static_cast<uint32_t>(end), static_cast<uint32_t>(parameter.bytes)});
    end += parameter.bytes;
  }
  kernel_->parameter_bytes = static_cast<uint32_t>(end);
}

/// Shared variables of the module and of the function lie one behind the other; the external ones, whose size
/// the launch gives, behind them all.
void Compiler::shared_variables(const PtxFunction& function) {
  uint64_t end = 0;
  std::vector<std::string> external;
  const auto place = [&](const PtxVariable& variable) {
    if (variable.is_external) {
      external.push_back(variable.name);
      return;
    }
    end = round_up(end, variable.align);
    shared_[variable.name] = end;
    end += variable.bytes;
  };
  // A variable of the module takes room only in kernels that name it.
  for (const PtxVariable& variable : module_.variables) {
    const auto names = [&](const PtxStatement& statement) {
      return statement.text.find(variable.name) != std::string::npos;
    };
    const bool is_used =
        function.body.end() != std::find_if(function.body.begin(), function.body.end(), names);
    if (variable.space == "shared" && (is_used || variable.is_external)) place(variable);
  }
  for (const PtxStatement& statement : function.body) {
    if (statement.text.compare(0, 7, ".shared") == 0) place(parse_variable(statement.text, statement.line));
  }
  end = round_up(end, 16);
  for (const std::string& name : external) shared_[name] = end;
  kernel_->shared_bytes = static_cast<uint32_t>(end);
}

void Compiler::body(const PtxFunction& function) {
  for (const PtxStatement& statement : function.body) this->statement(statement);
}

void Compiler::statement(const PtxStatement& statement) {
  const std::string& text = statement.text;
  const PtxStatement before = current_;
  current_ = statement;
  if (text == "{") {
    scopes_.emplace_back();
  } else if (text == "}") {
    scopes_.pop_back();
  } else if (text.back() == ':') {
    last_label_ = text.substr(0, text.size() - 1);
    labels_[scoped_label(last_label_)] = static_cast<uint32_t>(kernel_->code.size());
  } else if (text.find(".branchtargets") != text.npos) {
    branch_table(text, statement.line);
  } else if (text[0] == '.') {
    directive(text, statement.line);
  } else {
    instruction(text);
  }
  current_ = before;
}

void Compiler::branch_table(const std::string& text, int line) {
  if (last_label_.empty()) throw PtxError(line, "a branch table without a label: " + text);
  scopes_.back().tables[last_label_] = split(std::string_view(text).substr(text.find_first_of(" \t\n")), ',');
}

void Compiler::directive(const std::string& text, int line) {
  const auto begins = [&](std::string_view start) { return text.compare(0, start.size(), start) == 0; };
  if (begins(".reg")) {
    declare_registers(text.substr(4), line);
  } else if (begins(".local") || begins(".param")) {
    declare_local(parse_variable(text, line));
  } else if (begins(".shared") && depth_ > 0) {
    throw PtxError(line, "shared variables of functions that are called: " + text);
  } else if (!begins(".pragma") && !begins(".shared")) {
    throw PtxError(line, "the directive " + text);
  }
}

void Compiler::declare_registers(const std::string& text, int line) {
  const std::string declaration = trimmed(text);
  const size_t space = declaration.find_first_of(" \t");
  PtxType type;
  if (!parse_type(declaration.substr(1, space - 1), type)) throw PtxError(line, "registers: " + text);
  const uint32_t bytes = register_bytes(type);
  const auto declare = [&](const std::string& name) {
    scopes_.back().registers[name] = {allocate(type.kind == 'p' ? 4 : 32 * bytes), type, bytes};
  };
  for (const std::string& name : split(std::string_view(declaration).substr(space), ',')) {
    const size_t count = name.find('<');
    if (count == name.npos) {
      declare(name);
      continue;
    }
    const int end = std::atoi(name.c_str() + count + 1);
    for (int index = 0; index < end; ++index) declare(name.substr(0, count) + std::to_string(index));
  }
}

void Compiler::declare_local(const PtxVariable& variable) {
  const uint64_t offset = round_up(kernel_->local_bytes, std::max<uint64_t>(variable.align, 4));
  scopes_.back().symbols[variable.name] = offset;
  kernel_->local_bytes = static_cast<uint32_t>(offset + variable.bytes);
}

std::string Compiler::take_guard(const std::string& text, const Instruction& instruction) {
  guard_ = Operation();
  if (text[0] != '@') return text;
  const bool negated = text[1] == '!';
  const size_t begin = negated ? 2 : 1, end = text.find_first_of(" \t", begin);
  const PtxRegister* guard = find_register(text.substr(begin, end - begin));
  if (guard == nullptr) instruction.reject("the guard is no register");
  guard_.guard = guard->offset;
  guard_.negated = negated;
  guard_.step = Step::guarded;
  return trimmed(std::string_view(text).substr(end));
}

void Compiler::instruction(const std::string& text) {
  Instruction whole;
  whole.text = text;
  whole.line = current_.line;
  const std::string bare = take_guard(text, whole);
  const Instruction parsed = parse_instruction(bare, text, current_.line);
  using Family = bool (*)(Compiler&, const Instruction&);
  // Carry chains come before plain arithmetic, numbers of 16 bits before the others.
  constexpr Family families[] = {compile_carry,   compile_half,   compile_memory,  compile_move,
                                 compile_integer, compile_float,  compile_compare, compile_convert,
                                 compile_bits,    compile_atomic, compile_warp,    compile_control,
                                 compile_async,   compile_matrix};
  for (const Family family : families) {
    if (family(*this, parsed)) return;
  }
  parsed.reject("this instruction is not simulated");
}

void Compiler::emit(Operation operation, Handler handler, const Instruction& instruction) {
  if (handler == nullptr) instruction.reject("not for this type");
  operation.run = handler;
  kernel_->code.push_back(operation);
  kernel_->lines.push_back({instruction.text, current_.line, current_.source_file, current_.source_line});
}

void Compiler::emit_step(Operation operation, Step step, const Instruction& instruction) {
  operation.step = step;
  kernel_->code.push_back(operation);
  kernel_->lines.push_back({instruction.text, current_.line, current_.source_file, current_.source_line});
}

void Compiler::branch_to(const std::string& label) {
  branches_.emplace_back(static_cast<uint32_t>(kernel_->code.size() - 1), scoped_label(label));
}

void Compiler::table_to(const std::string& name) {
  for (size_t scope = scopes_.size(); scope-- > 0;) {
    const auto found = scopes_[scope].tables.find(name);
    if (found == scopes_[scope].tables.end()) continue;
    kernel_->code.back().immediate = static_cast<int64_t>(table_labels_.size());
    table_labels_.emplace_back();
    for (const std::string& label : found->second) table_labels_.back().push_back(scoped_label(label));
    return;
  }
  throw PtxError(current_.line, "there is no branch table " + name);
}

void Compiler::resolve_labels() {
  const auto place = [&](const std::string& label) {
    const auto found = labels_.find(label);
    if (found == labels_.end()) throw PtxError(current_.line, "there is no label " + label);
    return found->second;
  };
  for (const auto& [index, label] : branches_) kernel_->code[index].immediate = place(label);
  for (const std::vector<std::string>& table : table_labels_) {
    kernel_->tables.emplace_back();
    for (const std::string& label : table) kernel_->tables.back().push_back(place(label));
  }
}

void Compiler::call(const Instruction& instruction, const std::string& name,
                    const std::vector<std::string>& results, const std::vector<std::string>& arguments) {
  const auto found = module_.functions.find(name);
  if (found == module_.functions.end() || found->second.body.empty())
    instruction.reject("no body of " + name);
  if (++depth_ > 32) instruction.reject("functions that call themselves are not simulated");
  const PtxFunction& function = found->second;
  Scope scope;
  const auto bind = [&](const std::vector<PtxVariable>& formal, const std::vector<std::string>& actual) {
    if (formal.size() != actual.size()) instruction.reject("the number of parameters differs");
    for (size_t index = 0; index < formal.size(); ++index) {
      const auto offset = local_offset(actual[index]);
      if (!offset) instruction.reject("a parameter that is no .param variable");
      scope.symbols[formal[index].name] = *offset;
    }
  };
  bind(function.results, results);
  bind(function.parameters, arguments);
  // The called function sees its own names only.
  std::vector<Scope> outer = std::exchange(scopes_, {std::move(scope)});
  const std::string outer_prefix = std::exchange(prefix_, "@" + std::to_string(++calls_));
  const std::string outer_return = std::exchange(return_label_, "return");
  body(function);
  labels_[scoped_label("return")] = static_cast<uint32_t>(kernel_->code.size());
  scopes_ = std::move(outer);
  prefix_ = outer_prefix;
  return_label_ = outer_return;
  --depth_;
}

}  // namespace simgpu
