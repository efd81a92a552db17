#include <tern/core/random.h>

#include <tern/core/error.h>
#include <tern/core/random_journal.h>

namespace tern {
namespace {

constexpr int most_devices = 64;
using Generators = std::array<Generator, most_devices>;

Generators& generators(DeviceType type) {
  static Generators cpu, cuda;
  return type == DeviceType::cpu ? cpu : cuda;
}

}  // namespace

uint64_t PhiloxStream::below(uint64_t bound) {
  check(bound > 0, "below: the bound must be at least 1, got 0");
  // The lowest 2^64 mod bound values would make the small results more likely.
  const uint64_t rejected = -bound % bound;
  for (;;) {
    const uint64_t low = next();
    const uint64_t value = uint64_t{next()} << 32 | low;
    if (value >= rejected) return value % bound;
  }
}

double PhiloxStream::normal() {
  const double u = 1 - uniform();
  return detail::normal_pair(u, uniform())[0];
}

Generator::~Generator() { RandomJournal::forget(*this); }

RandomState Generator::reserve(int64_t count) {
  check(count >= 0, "reserve: the count must not be negative, got ", count);
  const std::lock_guard lock(mutex_);
  const RandomState start = state_;
  RandomJournal::note(*this, start);
  state_.offset += (static_cast<uint64_t>(count) + 3) / 4;
  return start;
}

RandomState Generator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(RandomState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

Generator& default_generator(Device device) {
  check_device(device);
  check(device.index < most_devices, "default_generator: there are at most ", most_devices,
        " devices of one type, got ", device);
  return generators(device.type)[static_cast<size_t>(device.index)];
}

void manual_seed(uint64_t seed) {
  for (const DeviceType type : {DeviceType::cpu, DeviceType::cuda})
    for (Generator& generator : generators(type)) generator.manual_seed(seed);
}

}  // namespace tern
