// Eigen's view of a tensor's memory and the way back; the one public header that needs Eigen, so that
// <tern/tern.h> leaves it out.
//
//   auto m = eigen_map<float>(x);        // [rows, columns] or [n], shares x's memory
//   m.row(0).setZero();
//   x.bump_version();                    // tell backward of writes through the map
//   Tensor y = from_eigen(m.transpose() * m);
#pragma once

#include <tern/core/tensor.h>

#include <Eigen/Core>

namespace tern {

template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A matrix over memory of any strides.
template <class T>
using EigenMap = Eigen::Map<EigenMatrix<T>, Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

/// x, [rows, columns] (or [n], as a column), as a matrix that shares its memory, transposed and sliced
/// tensors too. Valid while the tensor is. Throws Error when T is not the type of the elements, for other
/// numbers of dimensions and on other devices than the CPU.
template <class T>
EigenMap<T> eigen_map(const Tensor& x) {
  check(x.dim() == 1 || x.dim() == 2, "eigen_map: needs 1 or 2 dimensions, got ", x.shape());
  check(x.device().is_cpu(), "eigen_map: the tensor must be on the CPU, it is on ", x.device());
  const bool vector = x.dim() == 1;
  return {x.data<T>(), x.size(0), vector ? 1 : x.size(1),
          Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(x.stride(0), vector ? 1 : x.stride(1))};
}

/// A new contiguous tensor [rows, columns] with the values of a matrix expression.
template <class Expression>
Tensor from_eigen(const Eigen::DenseBase<Expression>& matrix) {
  using T = typename Expression::Scalar;
  const Tensor x = empty({matrix.rows(), matrix.cols()}, dtype_of<T>());
  Eigen::Map<EigenMatrix<T>>(x.data<T>(), matrix.rows(), matrix.cols()) = matrix;
  return x;
}

}  // namespace tern
