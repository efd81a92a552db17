#include <tern/tests/simgpu/cudnn/operation.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace simdnn {
namespace {

using TensorPointer = std::shared_ptr<const Tensor>;

/// [batch, heads, rows, columns] of an array, where several heads of a larger one may share a head.
struct Heads {
  const Array& array;
  int64_t group;

  size_t at(int64_t b, int64_t h, int64_t row, int64_t column) const {
    const Sizes& d = array.dims;
    return static_cast<size_t>(((b * d[1] + h / group) * d[2] + row) * d[3] + column);
  }
  double operator()(int64_t b, int64_t h, int64_t row, int64_t column) const {
    return array.x[at(b, h, row, column)];
  }
};

Heads heads(const Array& array, const Sizes& q) { return {array, q[1] / array.dims[1]}; }

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                  const TensorPointer& stats) {
  const std::string all = describe(q) + "; " + describe(k) + "; " + describe(v) + "; " + describe(o);
  demand(q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && o.rank() == 4,
         "attention's tensors have 4 dimensions: " + all);
  demand(k.dims[3] == q.dims[3] && v.dims[2] == k.dims[2] && o.dims[2] == q.dims[2] && o.dims[3] == v.dims[3],
         "attention's matrices don't fit: " + all);
  demand(k.dims[0] == q.dims[0] && v.dims[0] == q.dims[0] && o.dims[0] == q.dims[0] && o.dims[1] == q.dims[1],
         "attention's batches don't fit: " + all);
  demand(k.dims[1] > 0 && v.dims[1] > 0 && q.dims[1] % k.dims[1] == 0 && q.dims[1] % v.dims[1] == 0,
         "the heads of q are no multiple of those of k and v: " + all);
  if (stats != nullptr) {
    demand(stats->dims == Sizes{q.dims[0], q.dims[1], q.dims[2], 1},
           describe(*stats) + " are no statistics of " + all);
  }
}

void find_missing(Operation& operation, const std::vector<cudnnBackendAttributeName_t>& roles) {
  for (const auto role : roles) {
    if (operation.at(role) == nullptr) continue;
    operation.missing = std::string(find_attribute(operation.type, role)->text) + " is not simulated";
  }
}

double scale_of(const TensorPointer& scale, const Values& values) {
  return scale == nullptr ? 1 : values.at(*scale).x[0];
}

struct Forward {
  TensorPointer q, k, v, o, stats, scale;
};

void run(const Forward& t, Values& values) {
  const Sizes& d = t.q->dims;
  const Array &qa = values.at(*t.q), &ka = values.at(*t.k), &va = values.at(*t.v);
  const Heads q = heads(qa, d), k = heads(ka, d), v = heads(va, d);
  const double scale = scale_of(t.scale, values);
  const int64_t keys = t.k->dims[2];
  Array o(t.o->dims), stats({d[0], d[1], d[2], 1});
  std::vector<double> p(static_cast<size_t>(keys));
  for_each_index({d[0], d[1], d[2]}, [&](const Sizes& at) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < keys; j++) {
      double score = 0;
      for (int64_t e = 0; e < d[3]; e++) score += q(at[0], at[1], at[2], e) * k(at[0], at[1], j, e);
      p[static_cast<size_t>(j)] = score * scale;
      most = std::max(most, score * scale);
    }
    for (double& value : p) sum += value = std::exp(value - most);
    const size_t row = static_cast<size_t>((at[0] * d[1] + at[1]) * d[2] + at[2]);
    stats.x[row] = most + std::log(sum);
    const auto width = static_cast<size_t>(t.o->dims[3]);
    for (size_t e = 0; e < width; e++) {
      for (int64_t j = 0; j < keys; j++) {
        o.x[row * width + e] += p[static_cast<size_t>(j)] / sum * v(at[0], at[1], j, static_cast<int64_t>(e));
      }
    }
  });
  values.set(*t.o, std::move(o));
  if (t.stats != nullptr) values.set(*t.stats, std::move(stats));
}

}  // namespace

void make_attention(const Descriptor&, Operation& operation) {
  const auto at = [&](cudnnBackendAttributeName_t role) { return operation.at(role); };
  const Forward t = {
      at(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC),     at(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC),
      at(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC),     at(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC),
      at(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC), at(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC)};
  check_shapes(*t.q, *t.k, *t.v, *t.o, t.stats);
  find_missing(operation,
               {CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC,
                CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC,
                CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC});
  operation.run = [t](Values& values) { run(t, values); };
}

}  // namespace simdnn
