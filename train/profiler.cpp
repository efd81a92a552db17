#include <tern/train/profiler.h>

#include <tern/core/error.h>
#include <tern/core/file.h>
#include <tern/core/type_name.h>

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace tern::train {
namespace {

constexpr double nano = 1e-9;

const char* category(ProfileKind kind) {
  switch (kind) {
    case ProfileKind::operation:
      return "operation";
    case ProfileKind::backward:
      return "backward";
    case ProfileKind::module:
      return "module";
    case ProfileKind::optimizer:
      return "optimizer";
    case ProfileKind::data:
      return "data";
    case ProfileKind::threads:
      return "threads";
    case ProfileKind::user:
      break;
  }
  return "user";
}

// What scopes have in common that show under one name. (Two places' literals may be two pointers to equal
// texts.)
using Key = std::tuple<std::string_view, const void*, ProfileKind>;

Key key_of(const ProfileEvent& event) { return {event.name, event.subject, event.kind}; }

std::map<const void*, std::string> names_of(nn::Module* model) {
  std::map<const void*, std::string> names;
  if (!model) return names;
  model->each_module([&](const std::string& name, nn::Module& module) { names.emplace(&module, name); });
  return names;
}

// The scopes around an event, by their entries. Events are shown to it from the last to end to the first, so
// that each comes after those around it.
class Nesting {
 public:
  bool is_inside(const ProfileEvent& event, size_t entry) {
    while (!open_.empty() && !encloses(open_.back().first, event)) open_.pop_back();
    const bool inside =
        std::any_of(open_.begin(), open_.end(), [&](const auto& outer) { return outer.second == entry; });
    open_.emplace_back(event, entry);
    return inside;
  }

 private:
  static bool encloses(const ProfileEvent& outer, const ProfileEvent& event) {
    return outer.depth < event.depth && outer.start <= event.start &&
           event.start + event.duration <= outer.start + outer.duration;
  }

  std::vector<std::pair<ProfileEvent, size_t>> open_;
};

// "12.345 ms".
std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.3f} us", seconds * 1e6);
}

std::string cut(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  return width <= 3 ? name.substr(0, width) : name.substr(0, width - 3) + "...";
}

std::string threads_text(const std::vector<std::string>& threads) {
  return threads.size() == 1 ? threads[0] : fmt::format("{} threads", threads.size());
}

// Takes the rows of kernel threads out, which work on what other rows show, and returns their time.
double take_helpers(std::vector<ProfileEntry>& entries) {
  double seconds = 0;
  std::erase_if(entries, [&](const ProfileEntry& entry) {
    const bool helps = entry.kind == ProfileKind::threads;
    if (helps) seconds += entry.total;
    return helps;
  });
  return seconds;
}

void sort(std::vector<ProfileEntry>& entries, ProfileOrder order) {
  const auto value = [order](const ProfileEntry& entry) {
    if (order == ProfileOrder::calls) return static_cast<double>(entry.calls);
    return order == ProfileOrder::self ? entry.self : entry.total;
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const ProfileEntry& a, const ProfileEntry& b) { return value(a) > value(b); });
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Profiler::Profiler(const ProfilerOptions& options)
    : modules_(names_of(options.model)), recording_(options.max_events) {}

std::string Profiler::name_of(const ProfileEvent& event) const {
  switch (event.kind) {
    case ProfileKind::backward:
      return std::string(event.name) + " backward";
    case ProfileKind::optimizer:
      return std::string(event.name) + ".step";
    case ProfileKind::module:
      break;
    default:
      return event.name;
  }
  const std::string type = short_type_name(event.name);
  const auto found = modules_.find(event.subject);
  return found == modules_.end() || found->second.empty() ? type : found->second + " (" + type + ")";
}

std::vector<ProfileEntry> Profiler::key_averages() const {
  std::vector<ProfileEntry> entries;
  std::map<Key, size_t> entry_of_key;
  std::map<std::pair<std::string, ProfileKind>, size_t> entry_of_name;
  const auto entry_of = [&](const ProfileEvent& event) {
    const auto [found, is_new] = entry_of_key.try_emplace(key_of(event), 0);
    if (is_new) {
      const auto name = std::pair(name_of(event), event.kind);
      found->second = entry_of_name.try_emplace(name, entries.size()).first->second;
      if (found->second == entries.size()) entries.push_back({name.first, name.second, 0, 0, 0, {}});
    }
    return found->second;
  };
  for (const ProfileThread& thread : recording_.threads()) {
    Nesting nesting;
    for (auto event = thread.events.rbegin(); event != thread.events.rend(); ++event) {
      const size_t number = entry_of(*event);
      ProfileEntry& entry = entries[number];
      ++entry.calls;
      entry.self += static_cast<double>(event->self) * nano;
      if (!nesting.is_inside(*event, number)) entry.total += static_cast<double>(event->duration) * nano;
      if (entry.threads.empty() || entry.threads.back() != thread.name) entry.threads.push_back(thread.name);
    }
  }
  sort(entries, ProfileOrder::self);
  return entries;
}

std::string Profiler::table(const ProfileTableOptions& options) const {
  check(options.row_limit >= 0 && options.max_name_width >= 0,
        "profiler: limits of a table must not be negative, got ", options.row_limit, " and ",
        options.max_name_width);
  const double duration = seconds();
  std::vector<ProfileEntry> entries = key_averages();
  const double helped = take_helpers(entries);
  sort(entries, options.sort_by);
  const size_t all = entries.size(), shown = std::min(all, static_cast<size_t>(options.row_limit));
  entries.resize(shown);
  size_t width = 4;
  for (ProfileEntry& entry : entries) {
    entry.name = cut(entry.name, static_cast<size_t>(options.max_name_width));
    width = std::max(width, entry.name.size());
  }
  std::string text;
  const auto line = [&](const auto&... columns) {
    fmt::format_to(std::back_inserter(text), "{:<{}}  {:>7}  {:>11}  {:>11}  {:>11}  {:>8}  {}\n",
                   columns...);
  };
  line("Name", width, "Self %", "Self", "Total", "Per call", "Calls", "Thread");
  text += std::string(width + 72, '-') + "\n";
  for (const ProfileEntry& entry : entries) {
    line(entry.name, width, fmt::format("{:.2f}", 100 * entry.self / duration), time_text(entry.self),
         time_text(entry.total), time_text(entry.total / static_cast<double>(entry.calls)), entry.calls,
         threads_text(entry.threads));
  }
  text += fmt::format("Recorded for {}", time_text(duration));
  if (helped > 0) text += fmt::format("; kernel threads helped for {}", time_text(helped));
  if (shown < all) text += fmt::format("; {} more names", all - shown);
  if (dropped() > 0) text += fmt::format("; {} calls beyond max_events are not here", dropped());
  return text + "\n";
}

void Profiler::export_chrome_trace(const std::string& path) const {
  const auto threads = recording_.threads();
  const auto process = ::getpid();
  std::map<Key, std::string> names;
  write_file_atomically(path, [&](FileWriter& file) {
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    fmt::format_to(std::back_inserter(text),
                   R"({{"ph":"M","name":"process_name","pid":{},"tid":{},"args":{{"name":"tern"}}}})",
                   process, process);
    for (const ProfileThread& thread : threads) {
      fmt::format_to(std::back_inserter(text),
                     ",\n"
                     R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                     process, thread.id, quoted(thread.name));
      for (const ProfileEvent& event : thread.events) {
        std::string& name = names[key_of(event)];
        if (name.empty()) name = quoted(name_of(event));
        fmt::format_to(std::back_inserter(text),
                       ",\n"
                       R"({{"ph":"X","name":{},"cat":"{}","ts":{:.3f},"dur":{:.3f},"pid":{},"tid":{}}})",
                       name, category(event.kind), static_cast<double>(event.start) / 1e3,
                       static_cast<double>(event.duration) / 1e3, process, thread.id);
        file.write(text);
        text.clear();
      }
    }
    file.write(text + "\n]}\n");
  });
}

}  // namespace tern::train
