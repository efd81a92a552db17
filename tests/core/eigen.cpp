#include <tern/core/eigen.h>
#include <tern/tests/core/make_tensor.h>

#include <doctest/doctest.h>

using namespace tern;
using namespace tern::tests;

TEST_CASE("an Eigen map shares the memory of matrices, transposed ones, slices and vectors") {
  const Tensor x = counted<float>({3, 4});
  const auto m = eigen_map<float>(x);
  CHECK(m.rows() == 3);
  CHECK(m(2, 1) == 9);
  const auto t = eigen_map<float>(x.with_layout(x.layout().transpose(0, 1).slice(0, 1, 4, 2)));
  CHECK(t.rows() == 2);
  CHECK(t(1, 2) == 11);
  eigen_map<float>(x)(0, 0) = 7;
  CHECK(x.data<float>()[0] == 7);
  const auto v = eigen_map<float>(x.with_layout(x.layout().select(1, 1)));
  CHECK(v.rows() == 3);
  CHECK(v.cols() == 1);
  CHECK(v.sum() == 15);
  CHECK(eigen_map<double>(empty({0, 5}, float64)).size() == 0);
}

TEST_CASE("a matrix expression of Eigen becomes a tensor") {
  const Tensor x = counted<double>({2, 3});
  const auto m = eigen_map<double>(x);
  const Tensor y = from_eigen(m * m.transpose());
  CHECK(y.shape() == Shape{2, 2});
  CHECK(y.data<double>()[1] == 14);
  CHECK(y.data<double>()[3] == 50);
  CHECK(from_eigen(Eigen::Vector3f(1, 2, 3)).shape() == Shape{3, 1});
}

TEST_CASE("tensors that are no matrix of that type have no Eigen map") {
  CHECK_THROWS_AS(eigen_map<float>(empty({2, 2}, float64)), Error);
  CHECK_THROWS_AS(eigen_map<float>(empty({2, 2, 2})), Error);
  CHECK_THROWS_AS(eigen_map<float>(empty({})), Error);
}
