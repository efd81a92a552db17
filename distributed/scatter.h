// Dividing a batch among devices, and putting results together again.
//
// The rule for n samples on D devices is chunk()'s: ceil(n / D) each, the last perhaps fewer, on as few
// devices as that takes. 9 samples on 8 devices are [2, 2, 2, 2, 1], 3 on 8 are [1, 1, 1], and 0 samples are
// one empty part on the first device.
#pragma once

#include <tern/core/device.h>
#include <tern/distributed/nested.h>

#include <span>
#include <vector>

namespace tern::nn::parallel {

namespace detail {

/// Throws Error naming `caller` unless all `devices` exist and there are some, each once.
void check_devices(std::span<const Device> devices, const char* caller);

/// The division of one batch. note() all its tensors, then ask for parts.
class Division {
 public:
  Division(std::span<const Device> devices, int64_t dim);
  void note(const Tensor& x);
  size_t parts() const;
  /// The tensors of part `number`; not for undefined ones.
  Tensor part(const Tensor& x, size_t number) const;

 private:
  int64_t share() const;

  std::span<const Device> devices_;
  int64_t dim_;
  int64_t size_ = -1;  // none seen
  Shape first_;        // of the tensor that decided the size
};

Tensor join(const std::vector<std::vector<Tensor>>& tensors, size_t which, Device target, int64_t dim);

}  // namespace detail

/// A value for each of `devices` that gets samples: the tensors in `value` divided along their dimension
/// `dim` and moved there (what lies there already becomes a view), anything else copied. Without any tensor,
/// a copy for each device. Differentiable. As torch.nn.parallel.scatter, but tensors of different sizes along
/// `dim` are refused, where PyTorch drops what has no partner.
///
/// Throws Error for devices that are none, the same twice or not there, for a tensor that has no dimension
/// `dim` (a number of the program is copied; a tensor without dimensions is not), and for tensors that differ
/// in their size along it.
template <class T>
std::vector<T> scatter(const T& value, const std::vector<Device>& devices, int64_t dim = 0) {
  detail::Division division(devices, dim);
  detail::each_tensor(value, [&](const Tensor& x) { division.note(x); });
  std::vector<T> parts(division.parts(), value);
  for (size_t i = 0; i < parts.size(); ++i) {
    detail::each_tensor(parts[i], [&](Tensor& x) {
      if (x.defined()) x = division.part(x, i);
    });
  }
  return parts;
}

/// The replicas' outputs as one, on `target`: tensors in the same place are joined along `dim`. Tensors
/// without dimensions (a loss that each replica computed) become a vector with an element per replica. Its
/// mean() is the mean of the replicas' means, which is not the mean over samples when shares differ: losses 1
/// and 3, of 4 samples and 2, average to 2, their samples to 5/3. Compute the loss outside, from joined
/// outputs, or return sums and counts. Undefined tensors stay undefined, other values must be equal.
/// Differentiable. As torch.nn.parallel.gather.
///
/// Throws Error when there are no outputs, they differ in structure, or tensors don't fit side by side.
template <class T>
T gather(const std::vector<T>& outputs, Device target, int64_t dim = 0) {
  check(!outputs.empty(), "gather: there are no outputs");
  std::vector<std::vector<Tensor>> tensors(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    detail::check_same_structure(outputs[0], outputs[i]);
    detail::each_tensor(outputs[i], [&](const Tensor& x) { tensors[i].push_back(x); });
  }
  T joined = outputs[0];
  size_t which = 0;
  detail::each_tensor(joined, [&](Tensor& x) { x = detail::join(tensors, which++, target, dim); });
  return joined;
}

}  // namespace tern::nn::parallel
