// cp.async: copies from global to shared memory that happen when the warp waits for them, so that a missing
// wait reads what was there before.
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {
namespace {

/// Checks the places at once, but moves the bytes later.
void issue(Warp& warp, const Operation& operation) {
  const uint64_t* from = warp.lanes<uint64_t>(operation.b);
  const uint32_t* sizes = operation.c == 0 ? nullptr : warp.lanes<uint32_t>(operation.c);
  const uint32_t bytes = operation.count;
  each_lane(warp, [&](uint32_t lane) {
    const uint64_t to = (operation.flag != 0 ? warp.lanes<uint64_t>(operation.a)[lane]
                                             : uint64_t{warp.lanes<uint32_t>(operation.a)[lane]}) +
                        operation.v[0];
    const uint32_t from_bytes = sizes == nullptr ? bytes : std::min(sizes[lane], bytes);
    const uint8_t* target = place<Space::shared>(warp, operation, to, bytes, Touch::write, lane);
    const uint8_t* source = target;
    if (from_bytes > 0) {
      const uint64_t address = from[lane] + static_cast<uint64_t>(operation.immediate);
      source = global_place(warp, operation, address, from_bytes, Touch::read, lane);
      if (address % bytes != 0) misaligned(warp, operation, address, bytes, lane);
    }
    warp.uncommitted.push_back(
        {reinterpret_cast<uint64_t>(target), reinterpret_cast<uint64_t>(source), bytes, from_bytes});
  });
}

void carry_out(const std::vector<PendingCopy>& copies) {
  for (const PendingCopy& copy : copies) {
    auto* to = reinterpret_cast<uint8_t*>(copy.to);
    std::memmove(to, reinterpret_cast<const void*>(copy.from), copy.from_bytes);
    std::memset(to + copy.from_bytes, 0, copy.bytes - copy.from_bytes);
  }
}

void commit(Warp& warp, const Operation&) {
  warp.copies.push_back(std::move(warp.uncommitted));
  warp.uncommitted.clear();
}

/// All groups but the `count` youngest.
void wait_group(Warp& warp, const Operation& operation) {
  const auto young = static_cast<size_t>(operation.immediate);
  while (warp.copies.size() > young) {
    carry_out(warp.copies.front());
    warp.copies.erase(warp.copies.begin());
  }
}

void wait_all(Warp& warp, const Operation& operation) {
  commit(warp, operation);
  wait_group(warp, operation);
}

void compile_copy(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const Address to = compiler.address(instruction, instruction.operands.at(0));
  const Address from = compiler.address(instruction, instruction.operands.at(1));
  operation.a = to.offset;
  operation.flag = to.is_wide ? 1 : 0;
  operation.v[0] = static_cast<uint32_t>(to.immediate);
  operation.b = from.offset;
  operation.immediate = from.immediate;
  operation.count = static_cast<uint8_t>(std::atoi(instruction.operands.at(2).c_str()));
  operation.cache = compiler.new_cache();
  if (instruction.operands.size() > 3) {
    operation.c = compiler.source(instruction, instruction.operands[3], {4, 'u', 1});
  }
  compiler.emit(operation, &issue, instruction);
}

}  // namespace

bool compile_async(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name != "cp" || !instruction.has("async")) return false;
  if (instruction.has("bulk") || instruction.has_prefix("mbarrier")) return false;
  if (instruction.has("commit_group")) {
    compiler.emit(compiler.guarded_operation(), &commit, instruction);
  } else if (instruction.has("wait_group")) {
    Operation operation = compiler.guarded_operation();
    operation.immediate = std::atoi(instruction.operands.at(0).c_str());
    compiler.emit(operation, &wait_group, instruction);
  } else if (instruction.has("wait_all")) {
    compiler.emit(compiler.guarded_operation(), &wait_all, instruction);
  } else {
    compile_copy(compiler, instruction);
  }
  return true;
}

}  // namespace simgpu
