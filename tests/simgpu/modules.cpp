#include <tern/tests/simgpu/fatbin.h>
#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/modules.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace simgpu {
namespace {

struct Modules {
  std::unordered_map<const void*, KernelEntry> kernels;
  std::set<const void*> handles;
  std::unordered_map<const void*, VariableEntry> variables;
};

Modules& modules() {
  static Modules& result = *new Modules;
  return result;
}

bool read(Module& module) {
  if (!module.was_read) {
    module.was_read = true;
    const std::string text = find_ptx(module.fat_binary, settings().capability, module.architecture);
    if (!text.empty()) module.ptx = read_ptx(text);
  }
  return module.architecture != 0;
}

uint64_t element(const std::string& text, const GlobalAddresses& globals, int line) {
  const bool is_float = text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1]) != nullptr;
  if (is_float) return std::strtoull(text.c_str() + 2, nullptr, 16);
  if (text[0] == '-') return 0 - std::strtoull(text.c_str() + 1, nullptr, 0);
  if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) return std::strtoull(text.c_str(), nullptr, 0);
  std::string name = text;
  if (name.compare(0, 8, "generic(") == 0) name = name.substr(8, name.find(')') - 8);
  const size_t plus = name.find('+');
  const auto found = globals.find(trimmed(name.substr(0, plus)));
  if (found == globals.end()) throw PtxError(line, "an initial value: " + text);
  return found->second + (plus == name.npos ? 0 : std::strtoull(name.c_str() + plus + 1, nullptr, 0));
}

/// Writes a variable's initial value; braces of nested arrays don't matter, because rows are written out in
/// full.
void initialize(const PtxVariable& variable, uint64_t address, const GlobalAddresses& globals) {
  std::memset(bytes_at(address), 0, variable.bytes);
  std::memset(shadow_at(address), 1, variable.bytes);
  std::string values = variable.initial;
  std::erase_if(values, [](char symbol) { return symbol == '{' || symbol == '}'; });
  uint64_t offset = 0;
  for (const std::string& text : split(values, ',')) {
    if (text.empty()) continue;
    const uint64_t value = element(text, globals, variable.line);
    std::memcpy(bytes_at(address + offset), &value, std::min<size_t>(variable.type.bytes, 8));
    offset += variable.type.bytes;
  }
}

/// Puts the module's variables into the device's memory, once.
const GlobalAddresses& globals_on(Module& module, int device) {
  const auto found = module.globals.find(device);
  if (found != module.globals.end()) return found->second;
  GlobalAddresses& addresses = module.globals[device];
  const auto is_global = [](const PtxVariable& variable) {
    return (variable.space == "global" || variable.space == "const") && !variable.is_external;
  };
  for (const PtxVariable& variable : module.ptx.variables) {
    if (!is_global(variable)) continue;
    const uint64_t address = allocate(device, std::max<uint64_t>(variable.bytes, 1), "module");
    if (address == 0) give_up("no memory for the variables of a module");
    addresses[variable.name] = address;
  }
  for (const PtxVariable& variable : module.ptx.variables) {
    if (is_global(variable)) initialize(variable, addresses[variable.name], addresses);
  }
  return addresses;
}

}  // namespace

Module* register_module(const void* fat_binary) {
  auto* module = new Module;
  module->fat_binary = fat_binary;
  return module;
}

void register_kernel(Module* module, const void* host_function, const char* name) {
  KernelEntry& entry = modules().kernels[host_function];
  entry.module = module;
  entry.name = name;
  modules().handles.insert(&entry);
}

void register_variable(Module* module, const void* host_variable, const char* name, size_t bytes) {
  modules().variables[host_variable] = {module, name, bytes};
}

KernelEntry* find_kernel(const void* host_function) {
  const auto found = modules().kernels.find(host_function);
  return found == modules().kernels.end() ? nullptr : &found->second;
}

KernelEntry* kernel_of_handle(const void* handle) {
  if (modules().handles.contains(handle)) return static_cast<KernelEntry*>(const_cast<void*>(handle));
  return find_kernel(handle);
}

cudaError_t compiled_kernel(KernelEntry& entry, int device, std::shared_ptr<const Kernel>& kernel) {
  try {
    if (!read(*entry.module)) return cudaErrorNoKernelImageForDevice;
    std::shared_ptr<const Kernel>& compiled = entry.compiled[device];
    if (compiled == nullptr) {
      const auto found = entry.module->ptx.functions.find(entry.name);
      if (found == entry.module->ptx.functions.end()) return cudaErrorInvalidDeviceFunction;
      compiled = Compiler(entry.module->ptx, globals_on(*entry.module, device)).compile(found->second);
    }
    kernel = compiled;
    return cudaSuccess;
  } catch (const std::exception& error) {
    give_up("kernel " + entry.name + ": " + error.what());
  }
}

cudaError_t variable_address(const void* host_variable, int device, uint64_t& address, size_t& bytes) {
  const auto found = modules().variables.find(host_variable);
  if (found == modules().variables.end()) return cudaErrorInvalidSymbol;
  VariableEntry& entry = found->second;
  if (!read(*entry.module)) return cudaErrorNoKernelImageForDevice;
  const GlobalAddresses& globals = globals_on(*entry.module, device);
  const auto variable = globals.find(entry.name);
  if (variable == globals.end()) return cudaErrorInvalidSymbol;
  address = variable->second;
  bytes = entry.bytes;
  return cudaSuccess;
}

}  // namespace simgpu
