// What cuBLASLt does to a product before it stores it.
#pragma once

#include <tern/tests/simgpu/cublaslt/support.h>

namespace simgpu::cublaslt {

/// The epilogue of one matrix of a batch, its memory on the host. Element by element in the order of memory;
/// sums of gradients are kept until `finish`.
template <class Sum>
class Epilogue {
 public:
  Epilogue(const Problem& problem, int64_t which);

  Sum apply(Sum value, int64_t row, int64_t column);
  void finish();

 private:
  bool bit(int64_t row, int64_t column) const;
  void set_bit(int64_t row, int64_t column, bool on);

  const Problem& problem_;
  void* bias_;
  void* aux_;
  int64_t bias_start_, aux_start_;
  std::vector<Sum> gradient_;
};

/// BGRADA and BGRADB: sums over the inner dimension of a factor, as op has it.
void sum_over_inner(const Problem& problem, const Matrix& a, const Matrix& b);

/// Memory that the epilogue reads or writes.
void add_accesses(std::vector<Access>& accesses, const Problem& problem);

}  // namespace simgpu::cublaslt
