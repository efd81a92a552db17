#include <tern/kernels/nonzero.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/iterate.h>

namespace tern::kernels {
namespace {

template <class T>
bool is_nonzero(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return value != 0;
  else
    return static_cast<float>(value) != 0;
}

// Each block counts its elements first, and then knows where in the result its own begin.
template <class T>
Tensor find_nonzero(const Tensor& dense) {
  const T* const x = dense.data<T>();
  const int64_t count = dense.numel();
  const int64_t blocks = (count + iterate_block - 1) / iterate_block;
  const Tensor starts = empty({blocks + 1}, int64, dense.device());
  int64_t* start = starts.data<int64_t>();
  start[0] = 0;
  parallel_for(count, iterate_block, [=](int64_t begin, int64_t end) {
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i) found += is_nonzero(x[i]);
    start[begin / iterate_block + 1] = found;
  });
  for (int64_t block = 0; block < blocks; ++block) start[block + 1] += start[block];
  const Tensor result = empty({start[blocks]}, int64, dense.device());
  int64_t* to = result.data<int64_t>();
  parallel_for(count, iterate_block, [=](int64_t begin, int64_t end) {
    int64_t at = start[begin / iterate_block];
    const int64_t stop = start[begin / iterate_block + 1];
    // Written whether it counts or not, then moved past or not: no branch that could not be foretold.
    for (int64_t i = begin; i < end && at < stop; ++i) to[at] = i, at += is_nonzero(x[i]);
  });
  return result;
}

}  // namespace

Tensor nonzero_flat(const Tensor& x) {
  check_device_kernels(x.device(), "nonzero");
  const Tensor dense = contiguous(x);
  Tensor result;
  dispatch(x.dtype(), [&]<class T>() { result = find_nonzero<T>(dense); });
  return result;
}

Tensor nonzero(const Tensor& x) {
  const Tensor flat = nonzero_flat(x);
  const Shape& shape = x.shape();
  const Tensor result = empty({flat.numel(), x.dim()}, int64, x.device());
  const int64_t* from = flat.data<int64_t>();
  int64_t* to = result.data<int64_t>();
  parallel_for(flat.numel(), iterate_block, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = from[i];
      for (int d = shape.dim() - 1; d >= 0; --d) {
        to[i * shape.dim() + d] = rest % shape[d];
        rest /= shape[d];
      }
    }
  });
  return result;
}

}  // namespace tern::kernels
