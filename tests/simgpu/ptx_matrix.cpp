// Matrix products of a warp: mma.sync, and ldmatrix, which loads its operands. The layouts are those of the
// PTX manual: lane 4 * g + t holds of A rows g and g + 8, of B column g, of C rows g and g + 8, each at
// columns from t on.
#include <tern/tests/simgpu/functions_half.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {
namespace {

namespace f = functions;

std::vector<std::string> elements(const std::string& operand) {
  if (operand[0] != '{') return {operand};
  return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

constexpr uint32_t rows = 16, columns = 8;

template <class Format>
struct PairElements {
  static constexpr uint32_t per_register = 2;
  static float get(uint32_t word, uint32_t part) {
    return Format::wide(static_cast<uint16_t>(word >> 16 * part));
  }
};

struct TensorFloatElements {
  static constexpr uint32_t per_register = 1;
  static float get(uint32_t word, uint32_t) { return std::bit_cast<float>(word & ~uint32_t{0x1fff}); }
};

/// Products of 16 x depth with depth x 8 numbers: registers of D, then of A, B and C in Kernel::extras.
template <class E, uint32_t depth>
void gather(Warp& warp, const uint32_t* places, float (&a)[rows][depth], float (&b)[depth][columns]) {
  constexpr uint32_t n = E::per_register, a_registers = rows * depth / 32 / n,
                     b_registers = columns * depth / 32 / n;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t group = lane / 4, thread = lane % 4;
    for (uint32_t index = 0; index < a_registers; ++index) {
      const uint32_t word = warp.lanes<uint32_t>(places[index])[lane];
      for (uint32_t part = 0; part < n; ++part) {
        a[group + index % 2 * 8][index / 2 * 4 * n + thread * n + part] = E::get(word, part);
      }
    }
    for (uint32_t index = 0; index < b_registers; ++index) {
      const uint32_t word = warp.lanes<uint32_t>(places[a_registers + index])[lane];
      for (uint32_t part = 0; part < n; ++part)
        b[index * 4 * n + thread * n + part][group] = E::get(word, part);
    }
  }
}

/// Calls the function with the row, column, lane, register and part of each element of C.
template <class Function>
void each_result(uint32_t parts, Function function) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t element = 0; element < 4; ++element) {
      function(lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2, lane, element / parts,
               element % parts);
    }
  }
}

template <uint32_t depth>
float product(const float (&a)[rows][depth], const float (&b)[depth][columns], uint32_t row,
              uint32_t column) {
  float sum = 0;
  for (uint32_t k = 0; k < depth; ++k) sum += a[row][k] * b[k][column];
  return sum;
}

template <class E, uint32_t depth, bool half_sums>
void multiply(Warp& warp, const Operation& operation) {
  if (warp.mask != all_lanes) fault(warp, operation, cudaErrorLaunchFailure, "mma.sync with diverged lanes");
  constexpr uint32_t a_registers = rows * depth / 32 / E::per_register, b_registers = a_registers / 2;
  constexpr uint32_t parts = half_sums ? 2 : 1;
  const uint32_t* d = &warp.block->kernel->extras[operation.extra];
  const uint32_t* inputs = d + 4 / parts;
  const uint32_t* c = inputs + a_registers + b_registers;
  float a[rows][depth], b[depth][columns];
  gather<E, depth>(warp, inputs, a, b);
  uint32_t results[4][32] = {};
  each_result(parts, [&](uint32_t row, uint32_t column, uint32_t lane, uint32_t index, uint32_t part) {
    const uint32_t word = warp.lanes<uint32_t>(c[index])[lane];
    if constexpr (half_sums) {
      const float sum = f::Half::wide(static_cast<uint16_t>(word >> 16 * part)) + product(a, b, row, column);
      results[index][lane] |= static_cast<uint32_t>(f::Half::narrow(sum)) << 16 * part;
    } else {
      results[index][lane] = std::bit_cast<uint32_t>(std::bit_cast<float>(word) + product(a, b, row, column));
    }
  });
  for (uint32_t index = 0; index < 4 / parts; ++index) store_lanes(warp, d[index], results[index]);
}

Handler choose(const Instruction& instruction) {
  if (instruction.types.size() != 4 || !instruction.has("row") || !instruction.has("col")) return nullptr;
  const char input = instruction.types[1].kind, sum = instruction.types[0].kind;
  if (instruction.types[2].kind != input || instruction.types[3].kind != sum) return nullptr;
  const bool deep = instruction.has("m16n8k16"), flat = instruction.has("m16n8k8"),
             thin = instruction.has("m16n8k4");
  using H = PairElements<f::Half>;
  using B = PairElements<f::Bfloat>;
  if (input == 'h' && sum == 'f')
    return deep ? Handler(&multiply<B, 16, false>) : flat ? Handler(&multiply<B, 8, false>) : nullptr;
  if (input == 'g' && sum == 'f')
    return deep ? Handler(&multiply<H, 16, false>) : flat ? Handler(&multiply<H, 8, false>) : nullptr;
  if (input == 'g' && sum == 'g')
    return deep ? Handler(&multiply<H, 16, true>) : flat ? Handler(&multiply<H, 8, true>) : nullptr;
  using T = TensorFloatElements;
  if (input == 't' && sum == 'f')
    return flat ? Handler(&multiply<T, 8, false>) : thin ? Handler(&multiply<T, 4, false>) : nullptr;
  return nullptr;
}

void compile_mma(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  std::vector<uint32_t> places;
  for (const std::string& name : elements(instruction.operands.at(0)))
    places.push_back(compiler.target(instruction, name));
  for (size_t operand = 1; operand < 4; ++operand) {
    for (const std::string& name : elements(instruction.operands.at(operand))) {
      places.push_back(compiler.source(instruction, name, {4, 'b', 1}));
    }
  }
  std::vector<uint32_t>& extras = compiler.kernel().extras;
  operation.extra = static_cast<uint32_t>(extras.size());
  extras.insert(extras.end(), places.begin(), places.end());
  compiler.emit(operation, choose(instruction), instruction);
}

/// Eight lanes give the addresses of a matrix's rows of eight halves; each lane gets two neighbouring
/// elements of each matrix, of its transpose for .trans.
template <class A>
void load_matrix(Warp& warp, const Operation& operation) {
  if (warp.mask != all_lanes) fault(warp, operation, cudaErrorLaunchFailure, "ldmatrix with diverged lanes");
  const A* addresses = warp.lanes<A>(operation.a);
  for (uint32_t matrix = 0; matrix < operation.count; ++matrix) {
    uint16_t values[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = matrix * 8 + row;
      const auto address =
          static_cast<uint64_t>(addresses[lane]) + static_cast<uint64_t>(operation.immediate);
      std::memcpy(values[row], place<Space::shared>(warp, operation, address, 16, Touch::read, lane), 16);
    }
    uint32_t result[32];
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      const bool transposed = operation.flag != 0;
      const uint16_t low = transposed ? values[column][row] : values[row][column];
      const uint16_t high = transposed ? values[column + 1][row] : values[row][column + 1];
      result[lane] = static_cast<uint32_t>(high) << 16 | low;
    }
    store_lanes(warp, operation.v[matrix], result);
  }
}

void compile_ldmatrix(Compiler& compiler, const Instruction& instruction) {
  if (!instruction.has("m8n8") || instruction.type.bytes != 2)
    instruction.reject("this shape is not simulated");
  Operation operation = compiler.guarded_operation();
  const std::vector<std::string> targets = elements(instruction.operands.at(0));
  operation.count = static_cast<uint8_t>(targets.size());
  for (size_t index = 0; index < targets.size() && index < 4; ++index) {
    operation.v[index] = compiler.target(instruction, targets[index]);
  }
  const Address address = compiler.address(instruction, instruction.operands.at(1));
  operation.a = address.offset;
  operation.immediate = address.immediate;
  operation.flag = instruction.has("trans") ? 1 : 0;
  compiler.emit(operation, address.is_wide ? &load_matrix<uint64_t> : &load_matrix<uint32_t>, instruction);
}

}  // namespace

bool compile_matrix(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name == "mma") compile_mma(compiler, instruction);
  if (instruction.name == "ldmatrix") compile_ldmatrix(compiler, instruction);
  return instruction.name == "mma" || instruction.name == "ldmatrix";
}

}  // namespace simgpu
