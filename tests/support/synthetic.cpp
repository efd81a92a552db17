#include <tern/tests/support/synthetic.h>

#include <tern/tern.h>

namespace tern::tests {
namespace {

constexpr uint32_t batch_size = 128;

float pixel(uint32_t n, uint32_t label, uint32_t channel, uint32_t row, uint32_t column) {
  const uint32_t noise = mix(((3 * n + channel) * 32 + row) * 32 + column) & 127;
  const uint32_t block = ((3 * label + channel) * 4 + row / 8) * 4 + column / 8;
  const uint32_t pattern = mix(0x20000000 + block) & 127;
  return (static_cast<float>(noise + pattern) / 255.0F - 0.5F) / 0.5F;
}

}  // namespace

uint32_t mix(uint32_t h) {
  h ^= h >> 16;
  h *= 0x7feb352d;
  h ^= h >> 15;
  h *= 0x846ca68b;
  return h ^ (h >> 16);
}

Batch synthetic_batch(uint32_t number) {
  const Tensor images = empty({batch_size, 3, 32, 32}), labels = empty({batch_size}, int64);
  float* at = images.data<float>();
  for (uint32_t i = 0; i < batch_size; ++i) {
    const uint32_t n = batch_size * number + i, label = mix(0x10000000 + n) % 10;
    labels.data<int64_t>()[i] = label;
    for (uint32_t place = 0; place < 3 * 32 * 32; ++place)
      *at++ = pixel(n, label, place / 1024, place / 32 % 32, place % 32);
  }
  return {images, labels};
}

}  // namespace tern::tests
