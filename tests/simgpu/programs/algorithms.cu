// CUB's algorithms for a whole device, against the standard library's.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tern/tests/simgpu/programs/device_array.h>

#include <algorithm>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <numeric>
#include <random>

namespace {

const std::vector<int> counts = {1, 31, 1000, 20011};

std::vector<int> random_numbers(int count, int limit) {
  std::mt19937 random(7);
  std::vector<int> result(count);
  for (int& value : result) value = static_cast<int>(random() % limit) - limit / 2;
  return result;
}

/// Calls `algorithm(workspace, bytes)` as CUB wants it: once for the size of its workspace, once to work.
template <class F>
void run(F algorithm) {
  size_t bytes = 0;
  ok(algorithm(nullptr, bytes));
  const DeviceArray<char> workspace(bytes);
  ok(algorithm(workspace.get(), bytes));
  finished();
}

struct IsOdd {
  __host__ __device__ bool operator()(int value) const { return value % 2 != 0; }
};

}  // namespace

TEST_CASE("Reductions of a device") {
  for (const int count : counts) {
    const std::vector<int> values = random_numbers(count, 1000);
    const DeviceArray<int> data(values), sum(1), least(1);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceReduce::Sum(space, bytes, data.get(), sum.get(), count);
    });
    run([&](void* space, size_t& bytes) {
      return cub::DeviceReduce::Min(space, bytes, data.get(), least.get(), count);
    });
    CHECK(sum.values()[0] == std::accumulate(values.begin(), values.end(), 0));
    CHECK(least.values()[0] == *std::min_element(values.begin(), values.end()));
  }
}

TEST_CASE("Reductions of doubles in segments") {
  std::vector<double> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(i + 1);
  const std::vector<int> starts = {0, 1, 1, 700, 5000};
  const DeviceArray<double> data(values), result(4);
  const DeviceArray<int> bounds(starts);
  run([&](void* space, size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(space, bytes, data.get(), result.get(), 4, bounds.get(),
                                           bounds.get() + 1);
  });
  const std::vector<double> sums = result.values();
  for (int i = 0; i < 4; ++i) {
    const double expected = std::accumulate(values.begin() + starts[i], values.begin() + starts[i + 1], 0.0);
    CHECK(sums[i] == doctest::Approx(expected).epsilon(1e-14));
  }
}

TEST_CASE("Scans of a device") {
  for (const int count : counts) {
    const std::vector<int> values = random_numbers(count, 100);
    std::vector<int> inclusive(count), exclusive(count);
    std::inclusive_scan(values.begin(), values.end(), inclusive.begin());
    std::exclusive_scan(values.begin(), values.end(), exclusive.begin(), 0);
    const DeviceArray<int> data(values), result(count);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(space, bytes, data.get(), result.get(), count);
    });
    CHECK(result.values() == inclusive);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(space, bytes, data.get(), result.get(), count);
    });
    CHECK(result.values() == exclusive);
  }
}

TEST_CASE("Radix sort keeps pairs together and the order of equals") {
  for (const int count : counts) {
    const std::vector<int> keys = random_numbers(count, 300);
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    const DeviceArray<int> from(keys), to(count), indices(order), sorted(count);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(space, bytes, from.get(), to.get(), indices.get(), sorted.get(),
                                             count);
    });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    CHECK(sorted.values() == order);
    const std::vector<int> result = to.values();
    CHECK(std::is_sorted(result.begin(), result.end()));
  }
}

TEST_CASE("Selection and histograms") {
  for (const int count : counts) {
    const std::vector<int> values = random_numbers(count, 8);
    const DeviceArray<int> data(values), result(count), chosen(1);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceSelect::If(space, bytes, data.get(), result.get(), chosen.get(), count, IsOdd());
    });
    std::vector<int> expected;
    std::copy_if(values.begin(), values.end(), std::back_inserter(expected), IsOdd());
    REQUIRE(chosen.values()[0] == static_cast<int>(expected.size()));
    std::vector<int> odd(expected.size());  // the rest of the result was never written
    ok(cudaMemcpy(odd.data(), result.get(), odd.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(odd == expected);

    const DeviceArray<int> bins(8);
    run([&](void* space, size_t& bytes) {
      return cub::DeviceHistogram::HistogramEven(space, bytes, data.get(), bins.get(), 9, -4, 4, count);
    });
    std::vector<int> histogram(8);
    for (const int value : values) ++histogram[value + 4];
    CHECK(bins.values() == histogram);
  }
}
