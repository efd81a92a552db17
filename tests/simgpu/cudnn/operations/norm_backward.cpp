#include <tern/tests/simgpu/cudnn/operations/norm.h>

#include <cmath>

namespace simdnn {
namespace {

using TensorPointer = std::shared_ptr<const Tensor>;

struct Backward {
  cudnnBackendNormMode_t mode;
  Sizes statistics;
  TensorPointer x, dy, scale, mean, inverse, epsilon, dx, dscale, dbias;
};

// With n = (x - mean) * inverse and g = dy * scale:
//   dscale = sum of dy * n, dbias = sum of dy, dx = inverse * (g - mean of g - n * mean of (g * n)),
// where a norm that subtracts no mean has no mean of g either.
void run(const Backward& norm, Values& values) {
  const Array &x = values.at(*norm.x), &dy = values.at(*norm.dy), &scale = values.at(*norm.scale);
  const bool centered = norm.mode != CUDNN_RMS_NORM;
  const Array mean = centered ? values.at(*norm.mean) : Array(norm.statistics);
  const Array& inverse = values.at(*norm.inverse);
  Array normal(x.dims), g(x.dims), gn(x.dims), dx(x.dims), dscale(scale.dims), dbias(scale.dims);
  for_each_element(x.dims, norm.statistics, scale.dims, [&](size_t i, size_t s, size_t w) {
    normal.x[i] = (x.x[i] - mean.x[s]) * inverse.x[s];
    g.x[i] = dy.x[i] * scale.x[w];
    gn.x[i] = g.x[i] * normal.x[i];
    dscale.x[w] += dy.x[i] * normal.x[i];
    dbias.x[w] += dy.x[i];
  });
  const Array mean_gn = mean_of(gn, norm.statistics);
  const Array mean_g = centered ? mean_of(g, norm.statistics) : Array(norm.statistics);
  for_each_element(x.dims, norm.statistics, scale.dims, [&](size_t i, size_t s, size_t) {
    dx.x[i] = inverse.x[s] * (g.x[i] - mean_g.x[s] - normal.x[i] * mean_gn.x[s]);
  });
  values.set(*norm.dx, std::move(dx));
  values.set(*norm.dscale, std::move(dscale));
  if (norm.dbias != nullptr) values.set(*norm.dbias, std::move(dbias));
}

}  // namespace

void make_norm_backward(const Descriptor& descriptor, Operation& operation) {
  const auto at = [&](cudnnBackendAttributeName_t role) { return operation.at(role); };
  Backward norm = {descriptor.get<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE),
                   {},
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC),
                   at(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC)};
  norm.statistics = statistics_sizes(norm.mode, *norm.x, *norm.scale, operation.missing);
  if (at(CUDNN_ATTR_OPERATION_NORM_BWD_PEER_STAT_DESCS) != nullptr) {
    operation.missing = "norms over several devices are not simulated";
  }
  operation.need(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC);
  if (norm.mode != CUDNN_RMS_NORM) operation.need(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC);
  check_sizes(norm.dy, norm.x->dims);
  check_sizes(norm.dx, norm.x->dims);
  check_sizes(norm.dscale, norm.scale->dims);
  check_sizes(norm.dbias, norm.scale->dims);
  if (operation.missing.empty()) {
    check_sizes(norm.mean, norm.statistics);
    check_sizes(norm.inverse, norm.statistics);
  }
  operation.mode = norm.mode;
  operation.run = [norm](Values& values) { run(norm, values); };
}

}  // namespace simdnn
