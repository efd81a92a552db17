#include <tern/train/state_names.h>

#include <tern/kernels/creation.h>

#include <fmt/format.h>

#include <set>
#include <sstream>

namespace tern::train {

void check_part_names(const char* operation, const std::vector<StatePart>& parts) {
  std::set<std::string> names;
  for (const StatePart& part : parts)
    check(names.insert(part.name).second, operation, ": two parts are named \"", part.name, "\"");
}

void add_to(TensorMap& all, const std::string& prefix, const TensorMap& part) {
  for (const auto& [name, tensor] : part) all[prefix + name] = tensor;
}

TensorMap part_of(const TensorMap& all, const std::string& prefix) {
  TensorMap part;
  for (auto entry = all.lower_bound(prefix); entry != all.end() && entry->first.starts_with(prefix); ++entry)
    part[entry->first.substr(prefix.size())] = entry->second;
  return part;
}

std::string text_of(const TensorMap& states) {
  std::string text;
  for (const auto& [name, x] : states)
    text += fmt::format("{} {} {}\n", name, x.data<int64_t>()[0], x.data<int64_t>()[1]);
  return text;
}

TensorMap states_of(const std::string& text) {
  TensorMap states;
  std::istringstream in(text);
  std::string name;
  for (int64_t seed = 0, offset = 0; in >> name >> seed >> offset;)
    states[name] = from_vector<int64_t>({seed, offset});
  return states;
}

}  // namespace tern::train
