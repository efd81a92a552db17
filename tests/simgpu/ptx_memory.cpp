// Loads and stores.
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {
namespace {

constexpr uint8_t strong_flag = 1;

/// M: the type in memory; R: the register's.
template <Space space, class A, class M, class R>
void load(Warp& warp, const Operation& operation) {
  const A* addresses = warp.lanes<A>(operation.a);
  const uint32_t count = operation.count;
  if constexpr (space == Space::global && sizeof(M) == sizeof(R) && sizeof(A) == 8) {
    if (count == 1) {
      if (const uint8_t* bytes = neighbours<M>(warp, operation, addresses, Touch::read)) {
        std::memcpy(warp.lanes<R>(operation.v[0]), bytes, 32 * sizeof(M));
        return;
      }
    }
  }
  const bool strong = operation.flag == strong_flag;
  const uint8_t* places[32];
  each_lane(warp, [&](uint32_t lane) {
    const auto address = static_cast<uint64_t>(addresses[lane]) + static_cast<uint64_t>(operation.immediate);
    const auto bytes = static_cast<uint32_t>(sizeof(M) * count);
    places[lane] = place<space>(warp, operation, address, bytes, Touch::read, lane, strong);
  });
  for (uint32_t element = 0; element < count; ++element) {
    R* target = warp.lanes<R>(operation.v[element]);
    each_lane(warp, [&](uint32_t lane) {
      M value;
      std::memcpy(&value, places[lane] + element * sizeof(M), sizeof value);
      target[lane] = static_cast<R>(value);
    });
  }
}

template <Space space, class A, class M, class R>
void store(Warp& warp, const Operation& operation) {
  const A* addresses = warp.lanes<A>(operation.a);
  const uint32_t count = operation.count;
  if constexpr (space == Space::global && sizeof(M) == sizeof(R) && sizeof(A) == 8) {
    if (count == 1) {
      if (uint8_t* bytes = neighbours<M>(warp, operation, addresses, Touch::write)) {
        std::memcpy(bytes, warp.lanes<R>(operation.v[0]), 32 * sizeof(M));
        return;
      }
    }
  }
  const bool strong = operation.flag == strong_flag;
  each_lane(warp, [&](uint32_t lane) {
    const auto address = static_cast<uint64_t>(addresses[lane]) + static_cast<uint64_t>(operation.immediate);
    const auto bytes = static_cast<uint32_t>(sizeof(M) * count);
    uint8_t* target = place<space>(warp, operation, address, bytes, Touch::write, lane, strong);
    for (uint32_t element = 0; element < count; ++element) {
      const auto value = static_cast<M>(warp.lanes<R>(operation.v[element])[lane]);
      std::memcpy(target + element * sizeof(M), &value, sizeof value);
    }
  });
}

/// Kernel parameters are the same for all lanes, unless the kernel indexes into one.
template <class M, class R>
void load_parameter(Warp& warp, const Operation& operation) {
  const uint64_t* base = warp.lanes<uint64_t>(operation.a);
  const uint32_t limit = warp.block->kernel->parameter_bytes;
  for (uint32_t element = 0; element < operation.count; ++element) {
    R result[32] = {};
    each_lane(warp, [&](uint32_t lane) {
      const uint64_t offset = base[lane] + static_cast<uint64_t>(operation.immediate) + element * sizeof(M);
      if (offset + sizeof(M) > limit)
        fault(warp, operation, cudaErrorIllegalAddress, "outside of the parameters", lane);
      M value;
      std::memcpy(&value, warp.block->parameters + offset, sizeof value);
      result[lane] = static_cast<R>(value);
    });
    store_lanes(warp, operation.v[element], result);
  }
}

enum class Kind { load, store, parameter };

template <Space space, class A, class M, class R>
Handler access(Kind kind) {
  if (kind == Kind::load) return &load<space, A, M, R>;
  return &store<space, A, M, R>;
}

/// The handler for types in memory and in the register. Loads of signed types extend the sign.
template <class Choose>
Handler for_types(PtxType memory, uint32_t register_bytes, Choose choose) {
  const auto with_register = [&]<class M>() -> Handler {
    if constexpr (sizeof(M) <= 2) {
      if (register_bytes == 2) return choose.template operator()<M, uint16_t>();
    }
    if constexpr (sizeof(M) <= 4) {
      if (register_bytes == 4) return choose.template operator()<M, uint32_t>();
    }
    return register_bytes == 8 ? choose.template operator()<M, uint64_t>() : nullptr;
  };
  const bool is_signed = memory.kind == 's';
  switch (memory.bytes) {
    case 1:
      return is_signed ? with_register.template operator()<int8_t>()
                       : with_register.template operator()<uint8_t>();
    case 2:
      return is_signed ? with_register.template operator()<int16_t>()
                       : with_register.template operator()<uint16_t>();
    case 4:
      return is_signed ? with_register.template operator()<int32_t>()
                       : with_register.template operator()<uint32_t>();
    case 8:
      return with_register.template operator()<uint64_t>();
    default:
      return nullptr;
  }
}

template <Space space>
Handler in_space(Kind kind, bool is_wide, PtxType memory, uint32_t register_bytes) {
  return for_types(memory, register_bytes, [&]<class M, class R>() -> Handler {
    return is_wide ? access<space, uint64_t, M, R>(kind) : access<space, uint32_t, M, R>(kind);
  });
}

std::vector<std::string> elements(const std::string& operand) {
  if (operand[0] != '{') return {operand};
  return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

/// The name of the variable that an address begins with.
std::string base_name(const std::string& operand) {
  const size_t end = operand.find_first_of("+]");
  return trimmed(operand.substr(1, end - 1));
}

Handler choose(Compiler& compiler, const Instruction& instruction, Kind kind, const Address& address,
               uint32_t register_bytes) {
  const PtxType type = instruction.type;
  const std::string& operand = instruction.operands[kind == Kind::load ? 1 : 0];
  if (instruction.has_prefix("param")) {
    if (compiler.local_offset(base_name(operand))) {
      return in_space<Space::local>(kind, address.is_wide, type, register_bytes);
    }
    if (kind == Kind::store || !address.is_wide) return nullptr;
    return for_types(type, register_bytes,
                     []<class M, class R>() -> Handler { return &load_parameter<M, R>; });
  }
  if (instruction.has_prefix("shared")) {
    return in_space<Space::shared>(kind, address.is_wide, type, register_bytes);
  }
  if (instruction.has("local")) return in_space<Space::local>(kind, address.is_wide, type, register_bytes);
  return address.is_wide ? in_space<Space::global>(kind, true, type, register_bytes) : nullptr;
}

bool is_strong(const Instruction& instruction) {
  for (const char* word : {"volatile", "relaxed", "acquire", "release"}) {
    if (instruction.has(word)) return true;
  }
  return false;
}

void do_nothing(Warp&, const Operation&) {}

}  // namespace

bool compile_memory(Compiler& compiler, const Instruction& instruction) {
  const std::string& name = instruction.name;
  if (name == "prefetch" || name == "prefetchu" || name == "discard" || name == "applypriority") {
    compiler.emit(compiler.guarded_operation(), &do_nothing, instruction);
    return true;
  }
  if (name != "ld" && name != "ldu" && name != "st") return false;
  const Kind kind = name == "st" ? Kind::store : Kind::load;
  Operation operation = compiler.guarded_operation();
  const std::vector<std::string> parts = elements(instruction.operands.at(kind == Kind::load ? 0 : 1));
  if (parts.size() > 4) instruction.reject("vectors of more than four are not simulated");
  operation.count = static_cast<uint8_t>(parts.size());
  operation.flag = is_strong(instruction) ? strong_flag : 0;
  uint32_t register_bytes = std::max<uint32_t>(instruction.type.bytes, 2);
  for (const std::string& part : parts) {
    if (const PtxRegister* found = compiler.find_register(part)) register_bytes = found->bytes;
  }
  const PtxType in_register{static_cast<uint8_t>(register_bytes), 'b', 1};
  for (size_t part = 0; part < parts.size(); ++part) {
    operation.v[part] = kind == Kind::load ? compiler.target(instruction, parts[part])
                                           : compiler.source(instruction, parts[part], in_register);
  }
  const Address address = compiler.address(instruction, instruction.operands.at(kind == Kind::load ? 1 : 0));
  operation.a = address.offset;
  operation.immediate = address.immediate;
  operation.cache = compiler.new_cache();
  compiler.emit(operation, choose(compiler, instruction, kind, address, register_bytes), instruction);
  return true;
}

}  // namespace simgpu
