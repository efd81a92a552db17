// The format .npy in memory: what is before an array's values. Internal to core.
#pragma once

#include <tern/core/error.h>
#include <tern/core/tensor.h>

#include <string>
#include <string_view>

namespace tern {

/// What is before the values.
struct NpyHeader {
  DType dtype = float32;
  bool fortran_order = false;
  Shape shape;
  int64_t begin = 0;  ///< where the values begin
  int64_t bytes = 0;  ///< of the values
};

/// Reads an array's bytes; `label` names their origin in errors, all of which are IoError.
class NpyParser {
 public:
  static constexpr int64_t start_bytes = 12;

  explicit NpyParser(std::string label) : label_(std::move(label)) {}

  /// Where the values begin, by the first `start_bytes` bytes: at most 1 MiB from there.
  int64_t values_begin(std::string_view start) const;
  /// Reads all bytes before the values.
  NpyHeader header(std::string_view before) const;
  /// An array that fill(memory) fills with the values. Throws IoError when they are no values of its dtype.
  template <class Fill>
  Tensor array(const NpyHeader& header, Fill fill) const {
    const Tensor stored = empty(stored_shape(header), header.dtype);
    fill(stored.data());
    return finished(header, stored);
  }

  template <class... Parts>
  void require(bool condition, const Parts&... message) const {
    check_as<IoError>(condition, "cannot read \"", label_, "\" as .npy: ", message...);
  }

 private:
  DType dtype_of(const std::string& descr) const;  // as JSON
  static Shape stored_shape(const NpyHeader& header);
  Tensor finished(const NpyHeader& header, const Tensor& stored) const;

  std::string label_;
};

/// All that is written before x's values, row-major. Throws Error beginning with `operation` when x is
/// undefined, not on the CPU or bfloat16.
std::string npy_header_of(const Tensor& x, const std::string& operation);

}  // namespace tern
