// PTX, the assembly language that nvcc puts into binaries, cut into variables, functions and statements. What
// the statements mean is ptx_compile.h's matter.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simgpu {

/// PTX that is not understood: never guessed, always an error with its line.
struct PtxError : std::runtime_error {
  PtxError(int line, const std::string& what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what) {}
};

/// A type such as .u32, .bf16x2 or .pred.
struct PtxType {
  uint8_t bytes = 0;
  char kind = 0;      // u, s, b; f: f32 and f64; g: f16; h: bf16; p: predicate
  uint8_t parts = 1;  // 2 for packed halves
};

/// Whether `name`, without the point, is a type.
bool parse_type(std::string_view name, PtxType& type);

/// A variable or a parameter: `.global .align 4 .b8 name[16] = {…}`.
struct PtxVariable {
  std::string space;  // global, const, shared, local, param
  std::string name, initial;
  PtxType type;
  uint64_t bytes = 0, align = 1;
  bool is_external = false;
  int line = 0;
};

/// An instruction or directive without its semicolon; a brace; or a label with its colon.
struct PtxStatement {
  std::string text;
  int line = 0;                          // in the PTX
  int source_file = 0, source_line = 0;  // of the CUDA source, where the PTX tells
};

struct PtxFunction {
  std::string name;
  bool is_entry = false;
  std::vector<PtxVariable> results, parameters;
  std::vector<PtxStatement> body;  // empty for a declaration
  uint32_t most_threads = 0;       // .maxntid, as a product
  int line = 0;
};

struct PtxModule {
  std::vector<PtxVariable> variables;
  std::map<std::string, PtxFunction> functions;
  std::map<int, std::string> files;
};

PtxModule read_ptx(const std::string& text);

/// A variable's declaration, in a function or outside of one.
PtxVariable parse_variable(const std::string& text, int line);

std::string trimmed(std::string_view text);

/// The parts between separators that stand in no brackets, trimmed.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace simgpu
