// Instructions by which the lanes of a warp speak to each other.
#include <tern/tests/simgpu/functions_float.h>
#include <tern/tests/simgpu/lanes.h>
#include <tern/tests/simgpu/ptx_compile.h>
#include <tern/tests/simgpu/report.h>

#include <algorithm>

namespace simgpu {
namespace {

namespace f = functions;

/// The lanes that take part must all be here, and each lane that is here must take part.
uint32_t member_mask(Warp& warp, const Operation& operation) {
  const uint32_t members = warp.lanes<uint32_t>(operation.e)[warp.first_lane()];
  if ((members & warp.live & ~warp.mask) != 0) {
    fault(warp, operation, cudaErrorLaunchFailure,
          format("lanes of the member mask 0x%08x have diverged: only 0x%08x are", members, warp.mask));
  }
  if ((warp.mask & ~members) != 0) {
    fault(warp, operation, cudaErrorLaunchFailure,
          format("a lane that is not in its own member mask 0x%08x is", members),
          static_cast<uint32_t>(std::countr_zero(warp.mask & ~members)));
  }
  return members;
}

/// Groups of lanes with a member mask each may be at the same instruction: `run` for one group after the
/// other.
template <Handler run>
void grouped(Warp& warp, const Operation& operation) {
  const uint32_t all = warp.mask;
  const uint32_t* masks = warp.lanes<uint32_t>(operation.e);
  for (uint32_t rest = all; rest != 0; rest &= ~warp.mask) {
    const uint32_t members = masks[std::countr_zero(rest)];
    warp.mask = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      warp.mask |= static_cast<uint32_t>((rest >> lane & 1) != 0 && masks[lane] == members) << lane;
    }
    run(warp, operation);
  }
  warp.mask = all;
}

enum class Shuffle { up, down, butterfly, index };

template <Shuffle kind>
void shuffle(Warp& warp, const Operation& operation) {
  member_mask(warp, operation);
  const uint32_t *a = warp.lanes<uint32_t>(operation.a), *b = warp.lanes<uint32_t>(operation.b);
  const uint32_t* c = warp.lanes<uint32_t>(operation.c);
  uint32_t result[32], inside = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t by = b[lane] & 31, segment = c[lane] >> 8 & 31, clamp = c[lane] & 31;
    const int highest = static_cast<int>((lane & segment) | (clamp & ~segment));
    int from = 0;
    if (kind == Shuffle::up) from = static_cast<int>(lane) - static_cast<int>(by);
    if (kind == Shuffle::down) from = static_cast<int>(lane + by);
    if (kind == Shuffle::butterfly) from = static_cast<int>(lane ^ by);
    if (kind == Shuffle::index) from = static_cast<int>((lane & segment) | (by & ~segment));
    const bool is_inside = kind == Shuffle::up ? from >= highest : from <= highest;
    inside |= static_cast<uint32_t>(is_inside) << lane;
    result[lane] = a[is_inside ? from & 31 : static_cast<int>(lane)];
  }
  store_lanes(warp, operation.d, result);
  if (operation.count != 0) set_predicate(warp, operation.v[0], inside);
}

enum class Vote { ballot, any, all, uniform };

template <Vote kind>
void vote(Warp& warp, const Operation& operation) {
  const uint32_t members = member_mask(warp, operation) & warp.mask;
  const uint32_t value = warp.predicate(operation.a);
  const uint32_t votes = (operation.flag != 0 ? ~value : value) & members;
  if (kind == Vote::ballot) {
    uint32_t result[32];
    std::fill(std::begin(result), std::end(result), votes);
    store_lanes(warp, operation.d, result);
    return;
  }
  const bool holds =
      kind == Vote::any ? votes != 0 : votes == members || (kind == Vote::uniform && votes == 0);
  set_predicate(warp, operation.d, holds ? all_lanes : 0);
}

template <class T, bool all>
void match(Warp& warp, const Operation& operation) {
  member_mask(warp, operation);
  const T* a = warp.lanes<T>(operation.a);
  uint32_t result[32] = {}, uniform = 0;
  each_lane(warp, [&](uint32_t lane) {
    for (uint32_t other = 0; other < 32; ++other) {
      const bool same = (warp.mask >> other & 1) != 0 && a[other] == a[lane];
      result[lane] |= static_cast<uint32_t>(same) << other;
    }
    if (all && result[lane] != warp.mask) result[lane] = 0;
    uniform |= static_cast<uint32_t>(result[lane] != 0) << lane;
  });
  store_lanes(warp, operation.d, result);
  if (operation.count != 0) set_predicate(warp, operation.v[0], uniform);
}

template <class T, class F>
void reduce(Warp& warp, const Operation& operation) {
  member_mask(warp, operation);
  const T* a = warp.lanes<T>(operation.a);
  T value = a[warp.first_lane()];
  for (uint32_t lane = warp.first_lane() + 1; lane < 32; ++lane) {
    if ((warp.mask >> lane & 1) != 0) value = F()(value, a[lane]);
  }
  T result[32];
  std::fill(std::begin(result), std::end(result), value);
  store_lanes(warp, operation.d, result);
}

void check_members(Warp& warp, const Operation& operation) { member_mask(warp, operation); }

void active_mask(Warp& warp, const Operation& operation) {
  uint32_t result[32];
  std::fill(std::begin(result), std::end(result), warp.mask);
  store_lanes(warp, operation.d, result);
}

void compile_shuffle(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const std::vector<std::string> targets = split(instruction.operands.at(0), '|');
  const PtxType word{4, 'b', 1};
  operation.d = compiler.target(instruction, targets[0]);
  operation.count = targets.size() > 1 ? 1 : 0;
  if (targets.size() > 1) operation.v[0] = compiler.target(instruction, targets[1]);
  operation.a = compiler.source(instruction, instruction.operands.at(1), word);
  operation.b = compiler.source(instruction, instruction.operands.at(2), word);
  operation.c = compiler.source(instruction, instruction.operands.at(3), word);
  if (!instruction.has("sync")) instruction.reject("shuffles without .sync are not simulated");
  operation.e = compiler.source(instruction, instruction.operands.at(4), word);
  const Handler handler = instruction.has("up")     ? Handler(&grouped<&shuffle<Shuffle::up>>)
                          : instruction.has("down") ? Handler(&grouped<&shuffle<Shuffle::down>>)
                          : instruction.has("bfly") ? Handler(&grouped<&shuffle<Shuffle::butterfly>>)
                                                    : Handler(&grouped<&shuffle<Shuffle::index>>);
  compiler.emit(operation, handler, instruction);
}

void compile_vote(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  bool negated = false;
  operation.a = compiler.predicate(instruction, instruction.operands.at(1), negated);
  operation.flag = negated ? 1 : 0;
  operation.e = compiler.source(instruction, instruction.operands.at(2), {4, 'b', 1});
  const Handler handler = instruction.has("ballot") ? Handler(&grouped<&vote<Vote::ballot>>)
                          : instruction.has("any")  ? Handler(&grouped<&vote<Vote::any>>)
                          : instruction.has("all")  ? Handler(&grouped<&vote<Vote::all>>)
                                                    : Handler(&grouped<&vote<Vote::uniform>>);
  compiler.emit(operation, handler, instruction);
}

void compile_match(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  const std::vector<std::string> targets = split(instruction.operands.at(0), '|');
  operation.d = compiler.target(instruction, targets[0]);
  operation.count = targets.size() > 1 ? 1 : 0;
  if (targets.size() > 1) operation.v[0] = compiler.target(instruction, targets[1]);
  operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  operation.e = compiler.source(instruction, instruction.operands.at(2), {4, 'b', 1});
  const bool all = instruction.has("all"), wide = instruction.type.bytes == 8;
  const Handler handler =
      wide ? (all ? Handler(&grouped<&match<uint64_t, true>>) : Handler(&grouped<&match<uint64_t, false>>))
           : (all ? Handler(&grouped<&match<uint32_t, true>>) : Handler(&grouped<&match<uint32_t, false>>));
  compiler.emit(operation, handler, instruction);
}

Handler reduction(const Instruction& instruction) {
  const bool is_signed = instruction.type.kind == 's';
  if (instruction.has("add")) return &grouped<&reduce<uint32_t, f::Add>>;
  if (instruction.has("and")) return &grouped<&reduce<uint32_t, f::And>>;
  if (instruction.has("or")) return &grouped<&reduce<uint32_t, f::Or>>;
  if (instruction.has("xor")) return &grouped<&reduce<uint32_t, f::Xor>>;
  if (instruction.has("min"))
    return is_signed ? Handler(&grouped<&reduce<int32_t, f::Minimum>>)
                     : Handler(&grouped<&reduce<uint32_t, f::Minimum>>);
  if (instruction.has("max"))
    return is_signed ? Handler(&grouped<&reduce<int32_t, f::Maximum>>)
                     : Handler(&grouped<&reduce<uint32_t, f::Maximum>>);
  return nullptr;
}

void compile_redux(Compiler& compiler, const Instruction& instruction) {
  if (instruction.type.kind == 'f') instruction.reject("redux of floats is not simulated");
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  operation.a = compiler.source(instruction, instruction.operands.at(1), instruction.type);
  operation.e = compiler.source(instruction, instruction.operands.at(2), {4, 'b', 1});
  compiler.emit(operation, reduction(instruction), instruction);
}

void compile_activemask(Compiler& compiler, const Instruction& instruction) {
  Operation operation = compiler.guarded_operation();
  operation.d = compiler.target(instruction, instruction.operands.at(0));
  compiler.emit(operation, &active_mask, instruction);
}

}  // namespace

void synchronize_warp(Warp& warp, const Operation& operation) { grouped<&check_members>(warp, operation); }

bool compile_warp(Compiler& compiler, const Instruction& instruction) {
  using Compile = void (*)(Compiler&, const Instruction&);
  static const std::map<std::string, Compile> known = {{"shfl", &compile_shuffle},
                                                       {"vote", &compile_vote},
                                                       {"match", &compile_match},
                                                       {"redux", &compile_redux},
                                                       {"activemask", &compile_activemask}};
  const auto found = known.find(instruction.name);
  if (found == known.end()) return false;
  found->second(compiler, instruction);
  return true;
}

}  // namespace simgpu
