// A function of three values, run for each element of arrays on a device.
#pragma once

#include <tern/tests/simgpu/programs/device_array.h>

template <class R, class A, class F>
__global__ void apply(int count, const A* a, const A* b, const A* c, R* result, F function) {
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) result[index] = function(a[index], b[index], c[index]);
}

template <class R, class A, class F>
std::vector<R> on_device(const std::vector<A>& a, const std::vector<A>& b, const std::vector<A>& c,
                         F function) {
  const DeviceArray<A> da(a), db(b), dc(c);
  const DeviceArray<R> result(a.size());
  const int count = static_cast<int>(a.size());
  apply<R><<<(count + 127) / 128, 128>>>(count, da.get(), db.get(), dc.get(), result.get(), function);
  finished();
  return result.values();
}
