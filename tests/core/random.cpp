#include <tern/core/random.h>
#include <tern/core/random_journal.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

using namespace tern;
using tern::tests::contains;
using tern::tests::error_of;

TEST_CASE("Philox gives the published numbers of Random123") {
  // kat_vectors of Random123, "philox4x32 10": counter, key, result.
  CHECK(Philox::block(0, 0, 0) == RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Philox::block(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}) ==
        RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox::block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88) ==
        RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers lie in [0, 1) and reach both ends") {
  CHECK(uniform_float(0) == 0);
  CHECK(uniform_float(~0u) == 1 - 0x1p-24f);
  CHECK(uniform_double(0, 0) == 0);
  CHECK(uniform_double(~0u, ~0u) == 1 - 0x1p-53);
  CHECK(uniform_double(1 << 11, 0) == 0x1p-53);
}

TEST_CASE("a stream walks through the blocks of its subsequence") {
  PhiloxStream stream(7, 9);
  for (uint64_t i = 0; i < 10; ++i) CHECK(stream.next() == Philox::block(7, 9, i / 4)[i % 4]);
}

TEST_CASE("below gives every value about equally often") {
  PhiloxStream stream(1, 1);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) ++counts[stream.below(6)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 500);
  CHECK(stream.below(1) == 0);
  // For a bound of 3 * 2^62, plain remainders would fall into the lowest third half of the time.
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += stream.below(uint64_t{3} << 62) < (uint64_t{1} << 62);
  CHECK(std::abs(low - 10000) < 500);
  CHECK(contains(error_of([&] { stream.below(0); }), "below: the bound must be at least 1"));
}

namespace {
struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};

template <class Draw>
Moments moments(int count, const Draw& draw) {
  double sum = 0, square = 0, fourth = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draw(i);
    sum += x, square += x * x, fourth += x * x * x * x;
  }
  return {sum / count, square / count, fourth / count};
}

void check_normal(const Moments& m) {
  CHECK(std::abs(m.mean) < 0.01);
  CHECK(std::abs(m.variance - 1) < 0.015);
  CHECK(std::abs(m.kurtosis - 3) < 0.1);
}
}  // namespace

TEST_CASE("normal numbers have mean 0, variance 1 and fourth moment 3") {
  const int count = 200000;
  check_normal(moments(count, [](int i) { return normal_floats(Philox::block(3, 0, i / 4u))[i % 4u]; }));
  check_normal(moments(count, [](int i) { return normal_doubles(Philox::block(3, 0, i / 2u))[i % 2u]; }));
  PhiloxStream stream(3, 1);
  check_normal(moments(count, [&](int) { return stream.normal(); }));
}

TEST_CASE("normal numbers are Box and Muller's") {
  for (uint64_t i = 0; i < 1000; ++i) {
    const RandomBlock block = Philox::block(5, 0, i);
    const double u = 1 - uniform_double(block[0], block[1]), turn = uniform_double(block[2], block[3]);
    const double radius = std::sqrt(-2 * std::log(u));
    const auto [first, second] = normal_doubles(block);
    CHECK(first == doctest::Approx(radius * std::cos(2 * M_PI * turn)).epsilon(1e-12));
    CHECK(second == doctest::Approx(radius * std::sin(2 * M_PI * turn)).epsilon(1e-12));
    const double float_radius = std::sqrt(-2 * std::log((block[0] + 1.) / 4294967296));
    const double expected = float_radius * std::cos(2 * M_PI * block[1] / 4294967296);
    CHECK(normal_floats(block)[0] == doctest::Approx(expected).epsilon(1e-7));
  }
}

TEST_CASE("normal numbers are finite for the extreme bits and keep their bits for ever") {
  for (const uint32_t bits : {0u, 1u, ~0u})
    for (const uint32_t turn : {0u, 1u << 29, 1u << 30, 1u << 31, 3u << 30, ~0u}) {
      for (const float x : normal_floats({bits, turn, bits, turn})) CHECK(std::abs(x) < 7);
      for (const double x : normal_doubles({bits, bits, turn, turn})) CHECK(std::abs(x) < 9);
    }
  const auto floats = normal_floats(Philox::block(1, 2, 3));
  CHECK(std::bit_cast<uint32_t>(floats[0]) == 0xbedc6754);
  CHECK(std::bit_cast<uint32_t>(floats[3]) == 0xbf904e89);
  const auto doubles = normal_doubles(Philox::block(1, 2, 3));
  CHECK(std::bit_cast<uint64_t>(doubles[0]) == 0xbfab73d8d85dcff0);
  CHECK(std::bit_cast<uint64_t>(doubles[1]) == 0xbff022356cb6feab);
}

TEST_CASE("a generator hands out whole blocks, and its state can be put back") {
  Generator generator;
  generator.manual_seed(42);
  CHECK(generator.reserve(1) == RandomState{42, 0});
  CHECK(generator.reserve(8) == RandomState{42, 1});
  CHECK(generator.reserve(0) == RandomState{42, 3});
  const RandomState kept = generator.state();
  CHECK(kept == RandomState{42, 3});
  generator.reserve(100);
  generator.set_state(kept);
  CHECK(generator.reserve(5) == RandomState{42, 3});
  generator.manual_seed(42);
  CHECK(generator.state() == RandomState{42, 0});
  CHECK(
      contains(error_of([&] { generator.reserve(-1); }), "reserve: the count must not be negative, got -1"));
}

TEST_CASE("a journal notes each generator once, at its first draw, and forgets those that end") {
  Generator first;
  first.manual_seed(3);
  first.reserve(4);
  const RandomJournal outer;
  {
    const RandomJournal inner;
    Generator second;
    second.reserve(4);
    first.reserve(4);
    first.reserve(4);
    CHECK(inner.starts().size() == 2);
  }
  REQUIRE(outer.starts().size() == 1);
  CHECK(outer.starts()[0].generator == &first);
  CHECK(outer.starts()[0].state == RandomState{3, 1});
}

TEST_CASE("threads that share a generator get different numbers") {
  Generator generator;
  std::array<std::vector<uint64_t>, 4> taken;
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) mine.push_back(generator.reserve(4).offset);
    });
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == 4000);
  CHECK(generator.state().offset == 4000);
}

TEST_CASE("manual_seed seeds the generator of every device") {
  manual_seed(11);
  CHECK(default_generator().state() == RandomState{11, 0});
  CHECK(&default_generator() == &default_generator("cpu:0"));
  manual_seed(0);
  CHECK(contains(error_of([] { default_generator(Device(DeviceType::cpu, 99)); }), "does not exist"));
}
