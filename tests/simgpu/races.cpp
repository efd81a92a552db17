#include <tern/tests/simgpu/memory.h>
#include <tern/tests/simgpu/races.h>
#include <tern/tests/simgpu/report.h>
#include <tern/tests/simgpu/settings.h>

#include <algorithm>
#include <optional>

namespace simgpu {
namespace {

struct Record {
  std::string name;
  int lane;
  uint64_t position;
  std::unique_ptr<Footprint> footprint;
};

struct Races {
  std::vector<Record> records;
  int only_lane = -1;
  bool several_lanes = false;
};

Races& races() {
  static Races& result = *new Races;
  return result;
}

constexpr std::array<const char*, 3> verbs = {"reads", "writes", "updates atomically"};

/// Reads go with reads, and atomic updates with atomic updates.
bool conflict(Touch a, Touch b) { return a != b || a == Touch::write; }

struct Overlap {
  uint64_t address;
  Touch first, second;
};

std::optional<Overlap> overlap(const Footprint::Range& a, const Footprint::Range& b) {
  const uint64_t begin = std::max(a.address, b.address);
  if (begin >= std::min(a.end, b.end) || !conflict(a.touch, b.touch)) return std::nullopt;
  return Overlap{begin, a.touch, b.touch};
}

std::optional<Overlap> overlap(const Footprint::Range& range, uint64_t number, const Footprint::Page& page) {
  const uint64_t base = number * Footprint::page;
  const uint64_t begin = std::max(range.address, base), end = std::min(range.end, base + Footprint::page);
  for (int touch = 0; touch < 3; ++touch) {
    if (!conflict(range.touch, static_cast<Touch>(touch))) continue;
    for (uint64_t byte = begin; byte < end; ++byte) {
      const uint64_t at = byte - base;
      if (page.touched[touch][at / 64] >> at % 64 & 1)
        return Overlap{byte, range.touch, static_cast<Touch>(touch)};
    }
  }
  return std::nullopt;
}

std::optional<Overlap> overlap(const Footprint::Page& a, const Footprint::Page& b, uint64_t number) {
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      if (!conflict(static_cast<Touch>(first), static_cast<Touch>(second))) continue;
      for (uint64_t word = 0; word < Footprint::page / 64; ++word) {
        const uint64_t both = a.touched[first][word] & b.touched[second][word];
        if (both == 0) continue;
        const uint64_t address =
            number * Footprint::page + word * 64 + static_cast<uint64_t>(__builtin_ctzll(both));
        return Overlap{address, static_cast<Touch>(first), static_cast<Touch>(second)};
      }
    }
  }
  return std::nullopt;
}

/// Where ranges of `a` meet anything of `b`.
std::optional<Overlap> overlap_of_ranges(const Footprint& a, const Footprint& b) {
  for (const Footprint::Range& range : a.ranges) {
    for (const Footprint::Range& other : b.ranges) {
      if (auto found = overlap(range, other)) return found;
    }
    for (const auto& [number, page] : b.pages) {
      if ((number + 1) * Footprint::page <= range.address || number * Footprint::page >= range.end) continue;
      if (auto found = overlap(range, number, page)) return found;
    }
  }
  return std::nullopt;
}

std::optional<Overlap> overlap(const Footprint& a, const Footprint& b) {
  if (auto found = overlap_of_ranges(a, b)) return found;
  if (auto found = overlap_of_ranges(b, a)) return Overlap{found->address, found->second, found->first};
  for (const auto& [number, page] : a.pages) {
    const auto other = b.pages.find(number);
    if (other == b.pages.end()) continue;
    if (auto found = overlap(page, other->second, number)) return found;
  }
  return std::nullopt;
}

}  // namespace

void Footprint::mark(uint64_t address, uint64_t bytes, Touch touch) {
  while (bytes > 0) {
    const uint64_t number = address / page, offset = address % page, here = std::min(bytes, page - offset);
    if (number != last_number) {
      last_page = &pages[number];
      last_number = number;
    }
    auto& words = last_page->touched[static_cast<size_t>(touch)];
    for (uint64_t at = offset; at < offset + here;) {
      const uint64_t bit = at % 64, length = std::min(64 - bit, offset + here - at);
      words[at / 64] |= (length == 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1) << bit;
      at += length;
    }
    address += here;
    bytes -= here;
  }
}

void Footprint::mark_range(uint64_t address, uint64_t bytes, Touch touch) {
  if (bytes > 0) ranges.push_back({address, address + bytes, touch});
}

Footprint* footprint_of(Task& task) {
  if (!races().several_lanes || !settings().races) return nullptr;
  if (task.footprint == nullptr) task.footprint = std::make_unique<Footprint>();
  return task.footprint.get();
}

void check_races(Task& task) {
  if (task.footprint == nullptr) return;
  Races& all = races();
  for (const Record& record : all.records) {
    if (task.clock.covers(record.lane, record.position)) continue;
    const auto found = overlap(*record.footprint, *task.footprint);
    if (!found) continue;
    report(format("race: nothing orders %s, which %s, and %s, which %s, %s", record.name.c_str(),
                  verbs[static_cast<size_t>(found->first)], task.work.name.c_str(),
                  verbs[static_cast<size_t>(found->second)], describe_address(found->address).c_str()));
    break;
  }
  all.records.push_back({task.work.name, task.lane, task.position, std::move(task.footprint)});
}

void forget_ordered(const Clock& host, bool nothing_queued) {
  if (!nothing_queued) return;
  std::erase_if(races().records,
                [&](const Record& record) { return host.covers(record.lane, record.position); });
}

void note_lane(int lane) {
  Races& all = races();
  if (all.only_lane < 0) all.only_lane = lane;
  all.several_lanes = all.several_lanes || all.only_lane != lane;
}

}  // namespace simgpu
