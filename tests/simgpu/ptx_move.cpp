// Moves between registers, vectors packed into registers, and addresses changed from one space to another.
#include <tern/tests/simgpu/functions.h>
#include <tern/tests/simgpu/grid.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>

namespace simgpu {
namespace {

void move_predicate(Warp& warp, const Operation& operation) {
  set_predicate(warp, operation.d, warp.predicate(operation.a));
}

/// Several narrow registers into a wide one, the first lowest.
template <class Wide, class Part>
void pack(Warp& warp, const Operation& operation) {
  Wide result[32] = {};
  for (uint32_t part = 0; part < operation.count; ++part) {
    const Part* value = warp.lanes<Part>(operation.v[part]);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      result[lane] =
          static_cast<Wide>(result[lane] | static_cast<Wide>(value[lane]) << (8 * sizeof(Part) * part));
    }
  }
  store_lanes(warp, operation.d, result);
}

template <class Wide, class Part>
void unpack(Warp& warp, const Operation& operation) {
  Wide value[32];
  std::memcpy(value, warp.lanes<Wide>(operation.a), sizeof value);  // a part may be the same register
  for (uint32_t part = 0; part < operation.count; ++part) {
    if (operation.v[part] == 0) continue;
    Part result[32];
    for (uint32_t lane = 0; lane < 32; ++lane) {
      result[lane] = static_cast<Part>(value[lane] >> (8 * sizeof(Part) * part));
    }
    store_lanes(warp, operation.v[part], result);
  }
}

Handler vector_handler(uint32_t wide, uint32_t part, bool packs) {
  if (wide == 8 && part == 4)
    return packs ? Handler(&pack<uint64_t, uint32_t>) : Handler(&unpack<uint64_t, uint32_t>);
  if (wide == 8 && part == 2)
    return packs ? Handler(&pack<uint64_t, uint16_t>) : Handler(&unpack<uint64_t, uint16_t>);
  if (wide == 4 && part == 2)
    return packs ? Handler(&pack<uint32_t, uint16_t>) : Handler(&unpack<uint32_t, uint16_t>);
  return nullptr;
}

void compile_vector(Compiler& compiler, const Instruction& instruction, bool packs) {
  const std::string& vector = instruction.operands.at(packs ? 1 : 0);
  const std::vector<std::string> parts = split(std::string_view(vector).substr(1, vector.size() - 2), ',');
  Operation operation = compiler.guarded_operation();
  operation.count = static_cast<uint8_t>(parts.size());
  const auto bytes = static_cast<uint32_t>(instruction.type.bytes / parts.size());
  if (parts.size() > 4) instruction.reject("more than four parts");
  for (size_t part = 0; part < parts.size(); ++part) {
    const PtxType type{static_cast<uint8_t>(bytes), 'b', 1};
    if (packs) operation.v[part] = compiler.source(instruction, parts[part], type);
    if (!packs && parts[part] != "_") operation.v[part] = compiler.target(instruction, parts[part]);
  }
  if (packs) operation.d = compiler.target(instruction, instruction.operands[0]);
  if (!packs) operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  compiler.emit(operation, vector_handler(instruction.type.bytes, bytes, packs), instruction);
}

/// %clock and its like count the operations of the block's warps: growing, and the same in every run.
void read_clock(Warp& warp, const Operation& operation) {
  const uint64_t now = warp.block->clock += 16;
  uint64_t wide[32];
  uint32_t narrow[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    wide[lane] = now;
    narrow[lane] = static_cast<uint32_t>(now);
  }
  if (operation.count == 8) store_lanes(warp, operation.d, wide);
  if (operation.count == 4) store_lanes(warp, operation.d, narrow);
}

void compile_mov(Compiler& compiler, const Instruction& instruction) {
  const std::string &to = instruction.operands.at(0), &from = instruction.operands.at(1);
  if (from[0] == '{' || to[0] == '{') return compile_vector(compiler, instruction, from[0] == '{');
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, to);
  if (from.compare(0, 6, "%clock") == 0 || from.compare(0, 12, "%globaltimer") == 0) {
    operation.count = instruction.type.bytes;
    compiler.emit(operation, &read_clock, instruction);
    return;
  }
  operation.a = compiler.source(instruction, from, instruction.type);
  const Handler handler =
      instruction.type.kind == 'p'
          ? Handler(&move_predicate)
          : for_bits(instruction.type, []<class T>() -> Handler { return &unary<T, T, functions::Move>; });
  compiler.emit(operation, handler, instruction);
}

enum Space : uint8_t { shared, local };

uint64_t window(const Warp& warp, const Operation& operation, uint32_t lane) {
  const Block& block = *warp.block;
  if (operation.flag == shared) return block.shared_base;
  return block.local_base + (uint64_t{warp.index} * 32 + lane) * block.kernel->local_bytes;
}

template <class T, bool to_generic>
void change_space(Warp& warp, const Operation& operation) {
  const T* a = warp.lanes<T>(operation.a);
  T result[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint64_t base = window(warp, operation, lane);
    result[lane] = static_cast<T>(to_generic ? a[lane] + base : a[lane] - base);
  }
  store_lanes(warp, operation.d, result);
}

void compile_cvta(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  if (instruction.type.bytes != 8) instruction.reject("addresses have 64 bits");
  Handler handler = nullptr;
  if (instruction.has("global") || instruction.has("const")) {
    handler = &unary<uint64_t, uint64_t, functions::Move>;
  } else if (instruction.has_prefix("shared") || instruction.has("local")) {
    operation.flag = instruction.has("local") ? local : shared;
    handler = instruction.has("to") ? &change_space<uint64_t, false> : &change_space<uint64_t, true>;
  }
  compiler.emit(operation, handler, instruction);
}

/// Whether a generic address lies in the window of shared or local memory, or in neither.
void test_space(Warp& warp, const Operation& operation) {
  const uint64_t* a = warp.lanes<uint64_t>(operation.a);
  const Block& block = *warp.block;
  uint32_t holds = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const bool is_shared = a[lane] >= block.shared_base && a[lane] < block.local_base;
    const bool is_local = a[lane] >= block.local_base;
    const bool results[] = {is_shared, is_local, !is_shared && !is_local};
    holds |= static_cast<uint32_t>(results[operation.flag]) << lane;
  }
  set_predicate(warp, operation.d, holds);
}

void compile_isspacep(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), {8, 'u', 1});
  operation.flag = instruction.has_prefix("shared") ? 0 : instruction.has("local") ? 1 : 2;
  compiler.emit(operation, &test_space, instruction);
}

}  // namespace

bool compile_move(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name == "mov") compile_mov(compiler, instruction);
  if (instruction.name == "cvta") compile_cvta(compiler, instruction);
  if (instruction.name == "isspacep") compile_isspacep(compiler, instruction);
  return instruction.name == "mov" || instruction.name == "cvta" || instruction.name == "isspacep";
}

}  // namespace simgpu
