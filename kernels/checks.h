// Checks that several kernels share, and the switch between devices.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// Throws Error naming `operation` unless there are kernels for `device` in this build.
inline void check_device_kernels(Device device, const char* operation) {
  check(device.is_cpu(), operation, ": this build has no kernels for ", device);
}

/// Throws Error naming `operation` unless both lie on one device that there are kernels for.
inline void check_same_device(const Tensor& a, const Tensor& b, const char* operation) {
  check(a.device() == b.device(), operation, ": tensors must be on one device, got ", a.device(), " and ",
        b.device());
  check_device_kernels(a.device(), operation);
}

/// Throws Error naming `operation` unless both have one dtype.
inline void check_same_dtype(const Tensor& a, const Tensor& b, const char* operation) {
  check(a.dtype() == b.dtype(), operation, ": tensors must have one dtype, got ", a.dtype(), " and ",
        b.dtype());
}

/// Throws Error naming `operation`, and saying "clone() first", when two indices of dst lead to the same
/// place: whatever writes in place calls this.
inline void check_no_overlap(const Tensor& dst, const char* operation) {
  check(!dst.layout().overlaps_itself(), operation, ": cannot write into a view of shape ", dst.shape(),
        " with strides ", dst.strides(), " in which several indices lead to one element; clone() first");
}

/// Whether writing `dst` changes elements that `src` reads at other indices: two views of one storage that
/// overlap, and are not the same view.
inline bool is_read_after_written(const Tensor& src, const Tensor& dst) {
  const Layout &a = src.layout(), &b = dst.layout();
  if (src.storage() != dst.storage() || a.offset >= b.end() || b.offset >= a.end()) return false;
  return a.offset != b.offset || a.strides != b.strides || a.shape != b.shape;
}

}  // namespace tern::kernels
