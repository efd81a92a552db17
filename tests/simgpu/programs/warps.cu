// What threads do together: shuffles, votes, barriers, shared memory, atomics, divergence; calls and printf.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <tern/tests/simgpu/programs/device_array.h>

#include <cub/block/block_scan.cuh>
#include <random>

namespace {

__global__ void lanes_speak(unsigned* result) {
  const unsigned lane = threadIdx.x;
  unsigned sum = lane;
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
  const unsigned values[] = {
      sum,
      __shfl_up_sync(~0U, lane, 3),
      __shfl_down_sync(~0U, lane, 5, 16),
      __shfl_sync(~0U, lane, 40),
      __ballot_sync(~0U, lane % 3 == 0),
      static_cast<unsigned>(__any_sync(~0U, lane == 31) + 2 * __all_sync(~0U, lane < 31)),
      __match_any_sync(~0U, lane / 8),
      __reduce_max_sync(~0U, lane * 7 % 32),
      __reduce_add_sync(~0U, lane)};
  for (int which = 0; which < 9; ++which) result[which * 32 + lane] = values[which];
}

__device__ __noinline__ int collatz(int value) {
  int steps = 0;
  for (; value != 1; ++steps) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  return steps;
}

__global__ void diverge(int* result) {
  const int value = threadIdx.x + 1;
  int local[8];  // indexed by what only the run knows: local memory
  for (int index = 0; index < 8; ++index) local[index] = index * value;
  int steps = collatz(value);
  switch (value % 6) {
    case 0:
      steps += 100;
      break;
    case 1:
      steps *= 3;
      break;
    case 4:
      steps -= local[steps & 7];
      break;
    default:
      steps ^= local[value & 7];
  }
  result[threadIdx.x] = steps;
}

int diverged(int value) {
  int steps = 0;
  for (int at = value; at != 1; ++steps) at = at % 2 == 0 ? at / 2 : 3 * at + 1;
  const int remainder = value % 6;
  if (remainder == 0) return steps + 100;
  if (remainder == 1) return steps * 3;
  return remainder == 4 ? steps - (steps & 7) * value : steps ^ ((value & 7) * value);
}

__global__ void count_values(int count, const int* values, int* bins, int* extremes, float* sum,
                             double* wide) {
  __shared__ int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) {
    atomicAdd(&local[values[index] & 15], 1);
    atomicMin(&extremes[0], values[index]);
    atomicMax(&extremes[1], values[index]);
    atomicAdd(sum, 0.5F);
    atomicAdd(wide, 0.25);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void block_counts(int* result) {
  const int odd = __syncthreads_count(threadIdx.x % 2), some = __syncthreads_or(threadIdx.x == 77);
  const int all = __syncthreads_and(threadIdx.x < 77);
  if (threadIdx.x == 0) result[0] = odd * 100 + some * 10 + all;
}

__global__ void scan(int* data) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int value = data[threadIdx.x];
  Scan(storage).InclusiveSum(value, value);
  data[threadIdx.x] = value;
}

__global__ void groups(int* result) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int value = threadIdx.x;
  for (int by = 4; by > 0; by /= 2) value += tile.shfl_down(value, by);
  result[threadIdx.x] = tile.thread_rank() == 0 ? value : -1;
}

__global__ void staged_copy(const int4* from, int4* to) {
  __shared__ int4 stage[64];
  __pipeline_memcpy_async(&stage[threadIdx.x], &from[threadIdx.x], sizeof(int4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[threadIdx.x] = stage[63 - threadIdx.x];
}

/// C (16 x 8) = A (16 x 16, by rows) * B (16 x 8, by columns), by one warp.
__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
  const auto word = [](const __nv_bfloat16* at) { return *reinterpret_cast<const unsigned*>(at); };
  const unsigned a0 = word(a + group * 16 + pair), a1 = word(a + (group + 8) * 16 + pair);
  const unsigned a2 = word(a + group * 16 + pair + 8), a3 = word(a + (group + 8) * 16 + pair + 8);
  const unsigned b0 = word(b + group * 16 + pair), b1 = word(b + group * 16 + pair + 8);
  float d[4];
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(1.0F));
  for (int index = 0; index < 4; ++index) c[(group + index / 2 * 8) * 8 + pair + index % 2] = d[index];
}

__global__ void speak(int value) { printf("%d of %s: %5.2f%%\n", value, "text", 12.5); }

}  // namespace

TEST_CASE("The lanes of a warp exchange values") {
  const DeviceArray<unsigned> result(9 * 32);
  lanes_speak<<<1, 32>>>(result.get());
  finished();
  const std::vector<unsigned> values = result.values();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned wanted[] = {496,
                               lane < 3 ? lane : lane - 3,
                               lane % 16 < 11 ? lane + 5 : lane,
                               8,
                               0x49249249,
                               1,
                               0xffU << (lane / 8 * 8),
                               31,
                               496};
    for (unsigned which = 0; which < 9; ++which) CHECK(values[which * 32 + lane] == wanted[which]);
  }
}

TEST_CASE("Lanes that branch differently meet again") {
  const DeviceArray<int> result(96);
  diverge<<<1, 96>>>(result.get());
  finished();
  const std::vector<int> values = result.values();
  for (int thread = 0; thread < 96; ++thread) CHECK(values[thread] == diverged(thread + 1));
}

TEST_CASE("Atomic updates lose nothing") {
  std::vector<int> values(1000);
  std::mt19937 random(1);
  for (int& value : values) value = static_cast<int>(random() % 1000);
  const DeviceArray<int> data(values), bins(std::vector<int>(16, 0)), extremes(std::vector<int>{5000, -1});
  const DeviceArray<float> sum(std::vector<float>{0});
  const DeviceArray<double> wide(std::vector<double>{0});
  count_values<<<8, 128>>>(1000, data.get(), bins.get(), extremes.get(), sum.get(), wide.get());
  finished();
  std::vector<int> wanted(16, 0);
  for (const int value : values) ++wanted[value & 15];
  CHECK(bins.values() == wanted);
  CHECK(extremes.values()[0] == *std::min_element(values.begin(), values.end()));
  CHECK(extremes.values()[1] == *std::max_element(values.begin(), values.end()));
  CHECK(sum.values()[0] == 500);
  CHECK(wide.values()[0] == 250);
}

TEST_CASE("Barriers count what threads say") {
  const DeviceArray<int> result(1);
  block_counts<<<1, 100>>>(result.get());
  finished();
  CHECK(result.values()[0] == 50 * 100 + 10);
}

TEST_CASE("CUB's scan of a block and cooperative groups work") {
  const DeviceArray<int> data(std::vector<int>(128, 2)), result(64);
  scan<<<1, 128>>>(data.get());
  groups<<<1, 64>>>(result.get());
  finished();
  for (int index = 0; index < 128; ++index) CHECK(data.values()[index] == 2 * index + 2);
  for (int index = 0; index < 64; ++index)
    CHECK(result.values()[index] == (index % 8 == 0 ? 8 * index + 28 : -1));
}

TEST_CASE("Asynchronous copies arrive when the warp has waited") {
  std::vector<int4> values(64);
  for (int index = 0; index < 64; ++index) values[index] = make_int4(index, -index, index * index, 7);
  const DeviceArray<int4> from(values), to(64);
  staged_copy<<<1, 64>>>(from.get(), to.get());
  finished();
  const std::vector<int4> found = to.values();
  for (int index = 0; index < 64; ++index) CHECK(found[index].z == (63 - index) * (63 - index));
}

TEST_CASE("Matrix products of a warp") {
  std::vector<__nv_bfloat16> a(256), b(128);
  std::mt19937 random(2);
  for (auto& value : a) value = __float2bfloat16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  for (auto& value : b) value = __float2bfloat16(static_cast<float>(static_cast<int>(random() % 9) - 4));
  const DeviceArray<__nv_bfloat16> da(a), db(b);
  const DeviceArray<float> c(128);
  multiply<<<1, 32>>>(da.get(), db.get(), c.get());
  finished();
  const std::vector<float> found = c.values();
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float sum = 1;
      for (int k = 0; k < 16; ++k)
        sum += __bfloat162float(a[row * 16 + k]) * __bfloat162float(b[column * 16 + k]);
      CHECK(found[row * 8 + column] == sum);
    }
  }
}

TEST_CASE("printf of a kernel") {
  speak<<<1, 1>>>(42);
  finished();
}
