#include <tern/core/shape.h>

#include <algorithm>
#include <ostream>

namespace tern {

Shape::Shape(std::span<const int64_t> sizes) {
  check(sizes.size() <= max_dims, "a tensor has at most ", max_dims, " dimensions, got ", sizes.size());
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  count_ = static_cast<int>(sizes.size());
}

Shape Shape::filled(int count, int64_t value) {
  Shape result;
  for (int i = 0; i < count; ++i) result.push_back(value);
  return result;
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

int64_t Shape::numel() const {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t size : *this) {
    check(size >= 0, "a size is negative in shape ", *this);
    overflow |= __builtin_mul_overflow(product, size, &product);
  }
  // A zero anywhere makes the tensor empty, whatever the other sizes multiply to.
  if (overflow && std::find(begin(), end(), 0) != end()) return 0;
  check(!overflow, "shape ", *this, " has more than 2^63 - 1 elements");
  return product;
}

void Shape::push_back(int64_t size) { insert(count_, size); }

void Shape::insert(int64_t position, int64_t size) {
  check(count_ < max_dims, "a tensor has at most ", max_dims, " dimensions; ", *this,
        " cannot take one more");
  std::copy_backward(begin() + position, end(), end() + 1);
  sizes_[static_cast<size_t>(position)] = size;
  ++count_;
}

void Shape::erase(int64_t position) {
  std::copy(begin() + position + 1, end(), begin() + position);
  --count_;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.dim(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

int64_t normalize_dim(int64_t dim, int64_t dims, const char* operation) {
  const int64_t count = std::max<int64_t>(dims, 1);  // a scalar takes dim 0 and -1, as in PyTorch
  check(dim >= -count && dim < count, operation, ": dim must be from ", -count, " to ", count - 1, ", got ",
        dim);
  return dim < 0 ? dim + count : dim;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation) {
  Shape result = a.dim() >= b.dim() ? a : b;
  const Shape& shorter = a.dim() >= b.dim() ? b : a;
  const int lead = result.dim() - shorter.dim();
  for (int i = 0; i < shorter.dim(); ++i) {
    int64_t& size = result[lead + i];
    check(size == shorter[i] || size == 1 || shorter[i] == 1, operation, ": shapes ", a, " and ", b,
          " do not broadcast");
    if (size == 1) size = shorter[i];
  }
  return result;
}

}  // namespace tern
