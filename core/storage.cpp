#include <tern/core/storage.h>

#include <tern/core/allocator.h>

namespace tern {

Storage::Storage(size_t bytes, Device device)
    : data_(allocate(bytes, device)), bytes_(bytes), device_(device), owned_(true) {}

Storage::Storage(void* data, size_t bytes, Device device, std::function<void()> release)
    : data_(data), bytes_(bytes), device_(device), owned_(false), release_(std::move(release)) {}

Storage::~Storage() {
  if (owned_) deallocate(data_, bytes_, device_);
  if (release_) release_();
}

}  // namespace tern
