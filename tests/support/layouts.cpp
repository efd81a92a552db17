#include <tern/tests/support/layouts.h>

#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>

#include <cmath>
#include <cstring>
#include <iostream>

#include <sys/mman.h>
#include <unistd.h>

namespace tern::tests {
namespace {

// Addresses for a row of elements, without memory behind them yet.
Tensor addresses(DType dtype, int64_t elements, int protection) {
  const size_t bytes = static_cast<size_t>(elements) * size_of(dtype);
  void* const start = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(start != MAP_FAILED, "the system has no ", bytes, " addresses");
  return from_blob(start, {elements}, dtype, [=] { ::munmap(start, bytes); });
}

// Lets `count` elements from `first` on be touched.
void open(const Tensor& row, int64_t first, int64_t count) {
  const auto bytes = static_cast<int64_t>(size_of(row.dtype()));
  const int64_t page = ::sysconf(_SC_PAGESIZE), begin = first * bytes / page * page;
  char* const start = static_cast<char*>(row.data()) + begin;
  const auto length = static_cast<size_t>((first + count) * bytes - begin);
  check(::mprotect(start, length, PROT_READ | PROT_WRITE) == 0, "the system has no memory there");
}

// The last dimension of a few elements lies far apart, the others densely. What lies between must not be
// touched.
Tensor laid_far(const Shape& shape, DType dtype) {
  constexpr int64_t few = 8, distance = (int64_t{1} << 31) + 64;
  int64_t dim = shape.dim() - 1;
  while (dim >= 0 && (shape[dim] < 2 || shape[dim] > few)) --dim;
  const int64_t times = dim >= 0 ? shape[dim] : 1;
  Shape slice = shape;
  if (dim >= 0) slice[dim] = 1;
  Layout layout(shape, dense_strides(slice), distance + 1);
  if (dim >= 0) layout.strides[dim] = distance;
  const Tensor row = addresses(dtype, layout.end(), PROT_NONE);
  for (int64_t i = 0; i < times; ++i) open(row, layout.offset + i * distance, slice.numel());
  return row.with_layout(layout);
}

}  // namespace

const char* name(Lay lay) {
  constexpr std::array<const char*, 6> names{"contiguous", "offset",        "reversed",
                                             "sliced",     "channels-last", "far"};
  return names[static_cast<size_t>(lay)];
}

Tensor laid_out(const Tensor& x, Lay lay) {
  Shape reversed, backwards, wide = x.shape();
  for (int64_t d = x.dim() - 1; d >= 0; --d) reversed.push_back(x.shape()[d]), backwards.push_back(d);
  Tensor y = empty(x.shape(), x.dtype());
  if (lay == Lay::offset) {
    const Tensor base = empty({x.numel() + 3}, x.dtype());
    y = base.with_layout(Layout(x.shape(), dense_strides(x.shape()), 3));
  } else if (lay == Lay::reversed && x.dim() > 1) {
    const Tensor base = empty(reversed, x.dtype());
    y = base.with_layout(base.layout().permute(backwards));
  } else if (lay == Lay::sliced && x.dim() > 0) {
    wide[x.dim() - 1] = 2 * wide.back() + 1;
    const Tensor base = empty(wide, x.dtype());
    y = base.with_layout(base.layout().slice(-1, 1, wide.back(), 2));
  } else if (lay == Lay::channels_last && x.dim() == 4) {
    y = empty(x.shape(), x.dtype(), {}, MemoryFormat::channels_last);
  } else if (lay == Lay::far && x.numel() > 0) {
    y = laid_far(x.shape(), x.dtype());
  }
  kernels::copy(x, y);
  return y;
}

Tensor sparse_zeros(const Shape& shape, DType dtype) {
  return addresses(dtype, shape.numel(), PROT_READ | PROT_WRITE).with_layout(Layout(shape));
}

std::vector<double> values_of(const Tensor& x) {
  const Tensor dense = kernels::contiguous(kernels::to(x.detach(), float64));
  return {dense.data<double>(), dense.data<double>() + dense.numel()};
}

Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  const Tensor x = empty(shape, float64);
  check(static_cast<int64_t>(values.size()) == x.numel(), values.size(), " values for shape ", shape);
  std::copy(values.begin(), values.end(), x.data<double>());
  return kernels::to(x, dtype);
}

Tensor row(const std::vector<double>& values, DType dtype) {
  return tensor_of(values, {static_cast<int64_t>(values.size())}, dtype);
}

Tensor scattered(const Shape& shape, double low, double high, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  double position = 0.1;
  for (double& value : values) {
    position = std::fmod(position + 0.6180339887498949, 1);
    value = low + (high - low) * position;
  }
  return tensor_of(values, shape, dtype);
}

Tensor upstream(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(1 + 0.7 * static_cast<double>(i)) + 0.1;
  return tensor_of(values, shape, dtype);
}

bool bits_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = kernels::contiguous(a.detach()), y = kernels::contiguous(b.detach());
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  return bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0;
}

double distance(const Tensor& got, const Tensor& want) {
  if (got.shape() != want.shape()) return INFINITY;
  const std::vector<double> a = values_of(got), b = values_of(want);
  double scale = 1, worst = 0;
  for (const double value : b) {
    if (std::isfinite(value)) scale = std::max(scale, 1 + std::abs(value));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double error = std::abs(a[i] - b[i]) / scale;
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool fails_with(const std::string& part, const std::function<void()>& action) {
  const std::string text = message_of(action);
  const bool found = text.find(part) != std::string::npos;
  if (!found) std::cerr << "expected an error with \"" << part << "\", got: " << text << '\n';
  return found;
}

}  // namespace tern::tests
