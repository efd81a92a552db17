// Atomic updates, single and of vectors. Blocks run one after another, so that each is atomic as it is.
#include <tern/tests/simgpu/functions_half.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/places.h>
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>

namespace simgpu {
namespace {

namespace f = functions;

struct Exchange {
  template <class T>
  T operator()(T, T value) const {
    return value;
  }
};

struct Increment {
  template <class T>
  T operator()(T old, T limit) const {
    return old >= limit ? T{0} : static_cast<T>(old + 1);
  }
};

struct Decrement {
  template <class T>
  T operator()(T old, T limit) const {
    return old == 0 || old > limit ? limit : static_cast<T>(old - 1);
  }
};

/// F of the old value and the operand replaces the old value; `count` elements, one behind the other.
template <Space space, class A, class T, class F>
void update(Warp& warp, const Operation& operation) {
  const A* addresses = warp.lanes<A>(operation.a);
  const uint32_t* values = &warp.block->kernel->extras[operation.extra];
  const uint32_t* results = operation.flag != 0 ? values + operation.count : nullptr;
  each_lane(warp, [&](uint32_t lane) {
    const auto address = static_cast<uint64_t>(addresses[lane]) + static_cast<uint64_t>(operation.immediate);
    const auto bytes = static_cast<uint32_t>(sizeof(T) * operation.count);
    uint8_t* at = place<space>(warp, operation, address, bytes, Touch::atomic, lane);
    for (uint32_t element = 0; element < operation.count; ++element) {
      T old;
      std::memcpy(&old, at + element * sizeof(T), sizeof old);
      const auto now = static_cast<T>(F()(old, warp.lanes<T>(values[element])[lane]));
      std::memcpy(at + element * sizeof(T), &now, sizeof now);
      if (results != nullptr) warp.lanes<T>(results[element])[lane] = old;
    }
  });
}

template <Space space, class A, class T>
void compare_and_swap(Warp& warp, const Operation& operation) {
  const A* addresses = warp.lanes<A>(operation.a);
  const T *expected = warp.lanes<T>(operation.b), *value = warp.lanes<T>(operation.c);
  each_lane(warp, [&](uint32_t lane) {
    const auto address = static_cast<uint64_t>(addresses[lane]) + static_cast<uint64_t>(operation.immediate);
    uint8_t* at = place<space>(warp, operation, address, sizeof(T), Touch::atomic, lane);
    T old;
    std::memcpy(&old, at, sizeof old);
    if (old == expected[lane]) std::memcpy(at, &value[lane], sizeof(T));
    if (operation.d != 0) warp.lanes<T>(operation.d)[lane] = old;
  });
}

template <Space space, class A>
struct In {
  template <class F>
  static Handler integers(PtxType type) {
    if (type.bytes < 4) return nullptr;
    return for_integers(type, []<class T>() -> Handler { return &update<space, A, T, F>; });
  }

  static Handler add(PtxType type) {
    if (type.kind == 'f')
      return for_floats(type, []<class T>() -> Handler { return &update<space, A, T, f::Add>; });
    using H = f::Narrow<f::Half, f::Add>;
    using B = f::Narrow<f::Bfloat, f::Add>;
    if (type.kind == 'g') {
      return type.parts == 2 ? Handler(&update<space, A, uint32_t, Halves<H>>)
                             : Handler(&update<space, A, uint16_t, H>);
    }
    if (type.kind == 'h') {
      return type.parts == 2 ? Handler(&update<space, A, uint32_t, Halves<B>>)
                             : Handler(&update<space, A, uint16_t, B>);
    }
    return integers<f::Add>(type);
  }

  static Handler choose(const std::string& what, PtxType type) {
    if (what == "add") return add(type);
    if (what == "exch") return integers<Exchange>({type.bytes, 'b', 1});
    if (type.kind == 'f') return nullptr;
    if (what == "cas")
      return for_bits(type, []<class T>() -> Handler { return &compare_and_swap<space, A, T>; });
    if (what == "and") return integers<f::And>(type);
    if (what == "or") return integers<f::Or>(type);
    if (what == "xor") return integers<f::Xor>(type);
    if (what == "min") return integers<f::Minimum>(type);
    if (what == "max") return integers<f::Maximum>(type);
    if (what == "inc") return integers<Increment>(type);
    if (what == "dec") return integers<Decrement>(type);
    return nullptr;
  }
};

std::string what_it_does(const Instruction& instruction) {
  for (const char* word : {"add", "exch", "cas", "and", "or", "xor", "min", "max", "inc", "dec"}) {
    if (instruction.has(word)) return word;
  }
  instruction.reject("this atomic operation is not simulated");
}

std::vector<std::string> elements(const std::string& operand) {
  if (operand[0] != '{') return {operand};
  return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
}

/// Places of values, and of results where there are some, behind each other in Kernel::extras.
void list_elements(Compiler& compiler, const Instruction& instruction, Operation& operation, size_t first) {
  std::vector<uint32_t>& extras = compiler.kernel().extras;
  const std::vector<std::string> values = elements(instruction.operands.at(first + 1));
  std::vector<uint32_t> places;
  for (const std::string& value : values)
    places.push_back(compiler.source(instruction, value, instruction.type));
  const bool has_results = first == 1 && instruction.operands[0] != "_";
  if (has_results) {
    for (const std::string& result : elements(instruction.operands[0])) {
      places.push_back(compiler.target(instruction, result));
    }
  }
  operation.count = static_cast<uint8_t>(values.size());
  operation.flag = has_results ? 1 : 0;
  operation.extra = static_cast<uint32_t>(extras.size());
  extras.insert(extras.end(), places.begin(), places.end());
}

}  // namespace

bool compile_atomic(Compiler& compiler, const Instruction& instruction) {
  if (instruction.name != "atom" && instruction.name != "red") return false;
  if (instruction.has("async")) instruction.reject("asynchronous updates are not simulated");
  const size_t first = instruction.name == "atom" ? 1 : 0;  // the operand with the address
  const std::string what = what_it_does(instruction);
  Operation operation = compiler.guarded_operation();
  const Address address = compiler.address(instruction, instruction.operands.at(first));
  operation.a = address.offset;
  operation.immediate = address.immediate;
  operation.cache = compiler.new_cache();
  if (what == "cas") {
    if (instruction.operands[0] != "_") operation.d = compiler.target(instruction, instruction.operands[0]);
    operation.b = compiler.source(instruction, instruction.operands.at(first + 1), instruction.type);
    operation.c = compiler.source(instruction, instruction.operands.at(first + 2), instruction.type);
  } else {
    list_elements(compiler, instruction, operation, first);
  }
  Handler handler = nullptr;
  if (instruction.has_prefix("shared")) {
    handler = address.is_wide ? In<Space::shared, uint64_t>::choose(what, instruction.type)
                              : In<Space::shared, uint32_t>::choose(what, instruction.type);
  } else if (address.is_wide) {
    handler = In<Space::global, uint64_t>::choose(what, instruction.type);
  }
  compiler.emit(operation, handler, instruction);
  return true;
}

}  // namespace simgpu
