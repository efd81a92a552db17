#include <tern/tests/simgpu/cudnn/operation.h>

namespace simdnn {
namespace {

/// Which matrix of `array` belongs to a batch of the result: the same, the only one, or one that several
/// share.
size_t matrix_of(const Array& array, const Sizes& result, const Sizes& batch) {
  int64_t at = 0;
  for (size_t d = 0; d < batch.size(); d++) {
    at = at * array.dims[d] + batch[d] / (result[d] / array.dims[d]);
  }
  const size_t rank = array.dims.size();
  return static_cast<size_t>(at * array.dims[rank - 2] * array.dims[rank - 1]);
}

void check_shapes(const Tensor& a, const Tensor& b, const Tensor& c) {
  const std::string all = describe(a) + "; " + describe(b) + "; " + describe(c);
  const size_t rank = c.rank();
  demand(rank >= 2 && a.rank() == rank && b.rank() == rank, "the ranks of a matmul's tensors differ: " + all);
  demand(a.dims[rank - 1] == b.dims[rank - 2] && a.dims[rank - 2] == c.dims[rank - 2] &&
             b.dims[rank - 1] == c.dims[rank - 1],
         "the matrices of a matmul don't fit: " + all);
  for (size_t d = 0; d + 2 < rank; d++) {
    demand(a.dims[d] > 0 && b.dims[d] > 0 && c.dims[d] % a.dims[d] == 0 && c.dims[d] % b.dims[d] == 0,
           "the batches of a matmul don't fit: " + all);
  }
}

}  // namespace

void make_matmul(const Descriptor& descriptor, Operation& operation) {
  const Descriptor& matmul = *descriptor.descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC);
  operation.compute = matmul.get<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE);
  const auto a = operation.at(CUDNN_ATTR_OPERATION_MATMUL_ADESC),
             b = operation.at(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  const auto c = operation.at(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  check_shapes(*a, *b, *c);
  for (const auto role :
       {CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC,
        CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC}) {
    if (operation.at(role) != nullptr) operation.missing = "a matmul's sizes from memory are not simulated";
  }
  operation.run = [=](Values& values) {
    const Array &left = values.at(*a), &right = values.at(*b);
    const size_t rank = c->rank();
    const auto m = static_cast<size_t>(c->dims[rank - 2]), n = static_cast<size_t>(c->dims[rank - 1]);
    const auto k = static_cast<size_t>(a->dims[rank - 1]);
    Array result(c->dims);
    size_t next = 0;
    for_each_index({c->dims.begin(), c->dims.end() - 2}, [&](const Sizes& batch) {
      const size_t from_a = matrix_of(left, c->dims, batch), from_b = matrix_of(right, c->dims, batch);
      for (size_t i = 0; i < m; i++) {
        for (size_t p = 0; p < k; p++) {
          for (size_t j = 0; j < n; j++) {
            result.x[next + i * n + j] += left.x[from_a + i * k + p] * right.x[from_b + p * n + j];
          }
        }
      }
      next += m * n;
    });
    values.set(*c, std::move(result));
  };
}

}  // namespace simdnn
