#include <tern/distributed/scatter.h>

#include <tern/autograd/convert.h>
#include <tern/autograd/views.h>

#include <algorithm>

namespace tern::nn::parallel::detail {

void check_devices(std::span<const Device> devices, const char* caller) {
  check(!devices.empty(), caller, ": needs at least one device");
  for (size_t i = 0; i < devices.size(); ++i) {
    check_device(devices[i]);
    check(std::find(devices.begin(), devices.begin() + static_cast<ptrdiff_t>(i), devices[i]) ==
              devices.begin() + static_cast<ptrdiff_t>(i),
          caller, ": device ", devices[i], " is there twice");
  }
}

Division::Division(std::span<const Device> devices, int64_t dim) : devices_(devices), dim_(dim) {
  check_devices(devices, "scatter");
}

void Division::note(const Tensor& x) {
  if (!x.defined()) return;
  check(x.dim() > 0,
        "scatter: a tensor without dimensions cannot be divided; pass it as a number, or expand() it to an "
        "element per sample");
  const int64_t size = x.size(normalize_dim(dim_, x.dim(), "scatter"));
  if (size_ < 0) size_ = size, first_ = x.shape();
  check(size == size_, "scatter: tensors are divided along dimension ", dim_,
        " and must have one size there, got shapes ", first_, " and ", x.shape());
}

int64_t Division::share() const {
  const auto devices = static_cast<int64_t>(devices_.size());
  return std::max<int64_t>(1, size_ / devices + (size_ % devices > 0));
}

size_t Division::parts() const {
  if (size_ < 0) return devices_.size();
  return static_cast<size_t>(std::max<int64_t>(1, size_ / share() + (size_ % share() > 0)));
}

Tensor Division::part(const Tensor& x, size_t number) const {
  const int64_t begin = static_cast<int64_t>(number) * share();
  const Tensor own = parts() == 1 ? x : narrow(x, dim_, begin, std::min(share(), size_ - begin));
  return to(own, devices_[number]);
}

Tensor join(const std::vector<std::vector<Tensor>>& tensors, size_t which, Device target, int64_t dim) {
  const Tensor& first = tensors[0][which];
  if (!first.defined()) return first;
  const bool scalars = first.dim() == 0;
  const int64_t joined = scalars ? 0 : normalize_dim(dim, first.dim(), "gather");
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const auto& list : tensors) {
    const Tensor& x = list[which];
    Shape rest = x.shape(), expected = first.shape();
    const bool fits = x.dim() == first.dim() && x.dtype() == first.dtype();
    if (fits && !scalars) rest[joined] = expected[joined];
    check(fits && rest == expected, "gather: the replicas returned ", first.dtype(), " of shape ",
          first.shape(), " and ", x.dtype(), " of shape ", x.shape(),
          ", which cannot be joined along dimension ", dim);
    parts.push_back(to(scalars ? unsqueeze(x, 0) : x, target));
  }
  return parts.size() == 1 ? parts[0] : cat(parts, joined);
}

}  // namespace tern::nn::parallel::detail
