#include <tern/data/batch_writer.h>

#include <cstring>

namespace tern::data {
namespace {

// Epochs lie 2^40 subsequences apart, so that samples and epochs never meet; the last one of an epoch is the
// order's. Subsequences below 2^40 are left to operations that were seeded alike.
constexpr uint64_t epoch_distance = uint64_t{1} << 40;

uint64_t subsequence(int64_t epoch, uint64_t within) {
  return (static_cast<uint64_t>(epoch) + 1) * epoch_distance + within;
}

void copy_strided(const std::byte* from, const Strides& from_strides, std::byte* to,
                  const Strides& to_strides, const Shape& shape, size_t element, int dim) {
  if (dim == shape.dim()) {
    std::memcpy(to, from, element);
    return;
  }
  const auto step = static_cast<int64_t>(element);
  for (int64_t i = 0; i < shape[dim]; ++i) {
    copy_strided(from + i * from_strides[dim] * step, from_strides, to + i * to_strides[dim] * step,
                 to_strides, shape, element, dim + 1);
  }
}

}  // namespace

Tensor scalar(int64_t value) {
  Tensor x = empty({}, int64);
  *x.data<int64_t>() = value;
  return x;
}

Tensor scalar(float value) {
  Tensor x = empty({}, float32);
  *x.data<float>() = value;
  return x;
}

PhiloxStream RandomKey::sample(int64_t index) const {
  return {seed, subsequence(epoch, static_cast<uint64_t>(index))};
}

PhiloxStream RandomKey::order() const { return {seed, subsequence(epoch, epoch_distance - 1)}; }

BatchWriter::BatchWriter(detail::Slot& slot, std::span<const int64_t> indices, RandomKey key,
                         const std::atomic<bool>* cancelled)
    : slot_(slot), indices_(indices), key_(key), cancelled_(cancelled) {
  slot_.batch.clear();
  slot_.sample.store(-1, std::memory_order_relaxed);
}

PhiloxStream BatchWriter::start(int64_t row) {
  if (cancelled_ && cancelled_->load(std::memory_order_relaxed)) throw detail::Cancelled();
  slot_.sample.store(index(row), std::memory_order_relaxed);
  return key_.sample(index(row));
}

Tensor BatchWriter::make(size_t field, const Layout& layout, DType dtype) {
  check(field == slot_.batch.size(), "BatchWriter: field ", slot_.batch.size(), " comes next, not ", field);
  if (field == slot_.storages.size()) slot_.storages.push_back({});
  Ref<Storage>& storage = slot_.storages[field];
  const size_t bytes = static_cast<size_t>(layout.numel()) * size_of(dtype);
  const bool reusable = storage && storage->references() == 1 && storage->bytes() >= bytes;
  if (!reusable) storage = make_ref<Storage>(bytes, Device());
  slot_.batch.push_back(Tensor(storage, layout, dtype));
  return slot_.batch.back();
}

void BatchWriter::put(int64_t row, const Tensors& sample) {
  if (row == 0) {
    for (size_t field = 0; field < sample.size(); ++field) {
      const Layout& one = sample[field].layout();
      Layout all(one.shape, one.strides_like());
      all.shape.insert(0, size());
      all.strides.insert(0, one.numel());
      make(field, all, sample[field].dtype());
    }
  }
  check(sample.size() == slot_.batch.size(), "batch: the sample has ", sample.size(),
        " tensors, the first one of its batch has ", slot_.batch.size());
  for (size_t field = 0; field < sample.size(); ++field) put_field(row, field, sample[field]);
}

void BatchWriter::put_field(int64_t row, size_t field, const Tensor& value) {
  const Tensor& batch = slot_.batch[field];
  Shape shape = batch.shape();
  Strides strides = batch.strides();
  shape.erase(0), strides.erase(0);
  check(value.shape() == shape && value.dtype() == batch.dtype(), "batch: tensor ", field,
        " of the sample has shape ", value.shape(), " and dtype ", value.dtype(),
        ", that of the first sample of its batch ", shape, " and ", batch.dtype());
  check(value.device().is_cpu(), "batch: samples must lie on the CPU, got one on ", value.device());
  const size_t element = size_of(value.dtype());
  const auto* from = static_cast<const std::byte*>(value.data());
  auto* to =
      static_cast<std::byte*>(batch.data()) + row * batch.layout().strides[0] * static_cast<int64_t>(element);
  if (value.strides() == strides)
    std::memcpy(to, from, static_cast<size_t>(value.numel()) * element);
  else
    copy_strided(from, value.strides(), to, strides, shape, element, 0);
}

}  // namespace tern::data
