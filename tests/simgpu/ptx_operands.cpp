// Operands: registers, numbers, addresses of variables, special registers.
#include <tern/tests/simgpu/ptx_compile.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace simgpu {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-');
}

}  // namespace

uint32_t Compiler::allocate(uint32_t bytes) {
  const uint32_t offset = kernel_->register_bytes;
  kernel_->register_bytes += (bytes + 63) / 64 * 64;
  return offset;
}

const PtxRegister* Compiler::find_register(const std::string& name) const {
  for (size_t scope = scopes_.size(); scope-- > 0;) {
    const auto found = scopes_[scope].registers.find(name);
    if (found != scopes_[scope].registers.end()) return &found->second;
  }
  return nullptr;
}

std::optional<uint64_t> Compiler::local_offset(const std::string& name) const {
  for (size_t scope = scopes_.size(); scope-- > 0;) {
    const auto found = scopes_[scope].symbols.find(name);
    if (found != scopes_[scope].symbols.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<uint64_t> Compiler::symbol(const std::string& name) const {
  if (const auto local = local_offset(name)) return local;
  if (const auto found = shared_.find(name); found != shared_.end()) return found->second;
  if (const auto found = kernel_parameters_.find(name); found != kernel_parameters_.end())
    return found->second;
  if (const auto found = globals_.find(name); found != globals_.end()) return found->second;
  return std::nullopt;
}

uint32_t Compiler::constant(uint32_t bytes, uint64_t value) {
  uint32_t& place = constants_[{bytes, value}];
  if (place != 0) return place;
  std::vector<uint8_t> lanes(size_t{32} * bytes);
  for (size_t lane = 0; lane < 32; ++lane)
    std::memcpy(&lanes[lane * bytes], &value, std::min<uint32_t>(bytes, 8));
  place = allocate(static_cast<uint32_t>(lanes.size()));
  kernel_->constants.emplace_back(place, std::move(lanes));
  return place;
}

uint64_t Compiler::number(const Instruction& instruction, const std::string& operand) {
  const bool is_float = operand.size() > 2 && operand[0] == '0' && std::strchr("fFdD", operand[1]) != nullptr;
  if (is_float) return std::strtoull(operand.c_str() + 2, nullptr, 16);
  if (operand == "WARP_SZ") return 32;
  if (is_number(operand)) {
    const bool negative = operand[0] == '-';
    const uint64_t value = std::strtoull(operand.c_str() + (negative ? 1 : 0), nullptr, 0);
    return negative ? 0 - value : value;
  }
  const size_t plus = operand.find('+');
  const std::string name = trimmed(operand.substr(0, plus));
  const auto value = symbol(name);
  if (!value) instruction.reject("what is " + operand + "?");
  return *value + (plus == operand.npos ? 0 : std::strtoull(operand.c_str() + plus + 1, nullptr, 0));
}

uint32_t Compiler::source(const Instruction& instruction, const std::string& operand, PtxType type) {
  if (const PtxRegister* found = find_register(operand)) return found->offset;
  if (operand.compare(0, 10, "%lanemask_") == 0) return lane_masks(operand);
  if (operand[0] == '%') {
    const uint32_t place = special(operand);
    if (place == 0) instruction.reject("the register " + operand + " is not simulated");
    return place;
  }
  uint64_t value = number(instruction, operand);
  if (type.kind == 'p') {
    const uint32_t place = constant(4, value != 0 ? all_lanes : 0);
    return place;
  }
  const uint32_t bytes = std::max<uint32_t>(type.bytes, 2);
  if (bytes < 8) value &= (uint64_t{1} << (8 * bytes)) - 1;
  return constant(bytes, value);
}

uint32_t Compiler::predicate(const Instruction& instruction, std::string operand, bool& negated) {
  negated = operand[0] == '!';
  if (negated) operand.erase(0, 1);
  return source(instruction, operand, {4, 'p', 1});
}

uint32_t Compiler::target(const Instruction& instruction, const std::string& operand) {
  if (operand == "_") return allocate(256);
  const PtxRegister* found = find_register(operand);
  if (found == nullptr) instruction.reject(operand + " is no register to write");
  return found->offset;
}

Address Compiler::address(const Instruction& instruction, const std::string& operand) {
  if (operand.size() < 3 || operand[0] != '[') instruction.reject(operand + " is no address");
  const std::string inner = trimmed(operand.substr(1, operand.size() - 2));
  const size_t sign = inner.find_first_of("+-", 1);
  const std::string base = trimmed(inner.substr(0, sign));
  Address result;
  if (sign != inner.npos) {
    const std::string offset = trimmed(inner.substr(sign + 1));
    result.immediate = static_cast<int64_t>(number(instruction, offset));
    if (inner[sign] == '-') result.immediate = -result.immediate;
  }
  if (const PtxRegister* found = find_register(base)) {
    result.offset = found->offset;
    result.is_wide = found->bytes == 8;
    return result;
  }
  result.is_fixed = true;
  result.immediate += static_cast<int64_t>(number(instruction, base));
  result.offset = constant(8, 0);
  return result;
}

/// Special registers that grid.cpp fills.
uint32_t Compiler::special(const std::string& name) {
  static const char* const known[] = {"%tid.x",
                                      "%tid.y",
                                      "%tid.z",
                                      "%ntid.x",
                                      "%ntid.y",
                                      "%ntid.z",
                                      "%ctaid.x",
                                      "%ctaid.y",
                                      "%ctaid.z",
                                      "%nctaid.x",
                                      "%nctaid.y",
                                      "%nctaid.z",
                                      "%laneid",
                                      "%warpid",
                                      "%nwarpid",
                                      "%nsmid",
                                      "%smid",
                                      "%gridid",
                                      "%dynamic_smem_size",
                                      "%total_smem_size"};
  if (std::find(std::begin(known), std::end(known), name) == std::end(known)) return 0;
  uint32_t& place = kernel_->special[name];
  if (place == 0) place = allocate(256);
  return place;
}

uint32_t Compiler::lane_masks(const std::string& name) {
  uint32_t& place = kernel_->special[name];
  if (place != 0) return place;
  place = allocate(128);
  std::vector<uint8_t> bytes(128);
  const std::string which = name.substr(10);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t equal = uint32_t{1} << lane, less = equal - 1;
    const uint32_t mask = which == "lt"   ? less
                          : which == "le" ? less | equal
                          : which == "eq" ? equal
                          : which == "gt" ? ~(less | equal)
                                          : ~less;
    std::memcpy(&bytes[size_t{4} * lane], &mask, 4);
  }
  kernel_->constants.emplace_back(place, std::move(bytes));
  return place;
}

}  // namespace simgpu
