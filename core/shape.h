// The sizes of a tensor's dimensions.
#pragma once

#include <tern/core/error.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <vector>

namespace tern {

/// The most dimensions that a tensor can have.
inline constexpr int max_dims = 8;

/// A short list of 64-bit numbers, stored inside the object: a shape, strides, or a list of dimensions.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  Shape(const std::vector<int64_t>& sizes) : Shape(std::span(sizes)) {}
  Shape(std::span<const int64_t> sizes);
  /// `count` times `value`.
  static Shape filled(int count, int64_t value);

  int dim() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](int64_t i) { return sizes_[static_cast<size_t>(i)]; }
  int64_t operator[](int64_t i) const { return sizes_[static_cast<size_t>(i)]; }
  int64_t* begin() { return sizes_.data(); }
  int64_t* end() { return sizes_.data() + count_; }
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + count_; }
  int64_t back() const { return sizes_[static_cast<size_t>(count_ - 1)]; }
  bool operator==(const Shape& other) const;

  /// The product of the sizes (1 without dimensions). Throws Error for a negative size or a product over 2^63
  /// - 1.
  int64_t numel() const;

  void push_back(int64_t size);
  void insert(int64_t position, int64_t size);
  void erase(int64_t position);

 private:
  std::array<int64_t, max_dims> sizes_{};
  int count_ = 0;
};

using Strides = Shape;

/// "[2, 3]".
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// `dim` counted from the front, where -1 means the last of `dims` dimensions. Throws Error naming
/// `operation` when there is no such dimension.
int64_t normalize_dim(int64_t dim, int64_t dims, const char* operation);

/// The shape in which two shapes meet by NumPy's broadcasting rule. Throws Error naming `operation` when they
/// don't.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation);

}  // namespace tern
