#include <tern/tests/simgpu/cudnn/operation.h>

#include <cmath>
#include <limits>

namespace simdnn {
namespace {

struct Pool {
  cudnnResampleMode_t mode;
  bool zero_padding;
  Sizes window, stride, pre, post;
};

/// Whole numbers of an attribute that may be set as fractions.
Sizes whole_numbers(const Descriptor& resample, cudnnBackendAttributeName_t name) {
  if (resample.values.at(name).type == CUDNN_TYPE_INT64) return resample.get_all<int64_t>(name);
  Sizes result;
  for (const cudnnFraction_t& fraction : resample.get_all<cudnnFraction_t>(name)) {
    demand(fraction.denominator != 0, "a fraction's denominator is 0");
    demand(fraction.numerator % fraction.denominator == 0, CUDNN_STATUS_NOT_SUPPORTED,
           "windows of broken size are not simulated");
    result.push_back(fraction.numerator / fraction.denominator);
  }
  return result;
}

Pool pool_of(const Descriptor& resample, const Tensor& x, const Tensor& y) {
  const auto padding = resample.get<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_ZERO_PAD);
  Pool pool = {resample.get<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE),
               padding == CUDNN_ZERO_PAD,
               whole_numbers(resample, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
               whole_numbers(resample, CUDNN_ATTR_RESAMPLE_STRIDES),
               whole_numbers(resample, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
               whole_numbers(resample, CUDNN_ATTR_RESAMPLE_POST_PADDINGS)};
  const std::string all = describe(x) + "; " + describe(y);
  demand(x.rank() == y.rank() && pool.window.size() + 2 == x.rank(),
         "the ranks of resampling differ: " + all);
  demand(x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1], "resampling keeps batch and channels: " + all);
  for (size_t d = 0; d < pool.window.size(); d++) {
    const int64_t room = x.dims[d + 2] + pool.pre[d] + pool.post[d] - pool.window[d];
    demand(room >= 0 && y.dims[d + 2] == room / pool.stride[d] + 1,
           "dimension " + std::to_string(d + 2) + " of y should be " +
               std::to_string(room / pool.stride[d] + 1) + ": " + all);
  }
  return pool;
}

std::string missing_of(const Descriptor& resample, const Pool& pool) {
  const bool known = pool.mode == CUDNN_RESAMPLE_MAXPOOL ||
                     pool.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ||
                     pool.mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
  if (!known) return "resampling other than pooling is not simulated";
  const auto padding = resample.get<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_ZERO_PAD);
  return padding == CUDNN_EDGE_VAL_PAD ? "padding with the edge's values is not simulated" : "";
}

/// Calls body(place in x, -1 where that is padding; number within the window) for one element of y.
template <class Body>
void for_each_tap(const Pool& pool, const Sizes& x, const Sizes& at, const Body& body) {
  int64_t number = 0;
  for_each_index(pool.window, [&](const Sizes& tap) {
    int64_t place = at[0] * x[1] + at[1];
    bool inside = true;
    for (size_t d = 0; d < tap.size(); d++) {
      const int64_t i = at[d + 2] * pool.stride[d] - pool.pre[d] + tap[d];
      inside = inside && i >= 0 && i < x[d + 2];
      place = place * x[d + 2] + i;
    }
    body(inside ? place : -1, number++);
  });
}

/// The largest element of a window, and its number within the window: the first of equals, a NaN before all.
std::pair<double, int64_t> largest(const Pool& pool, const Array& x, const Sizes& at) {
  std::pair<double, int64_t> best = {-std::numeric_limits<double>::infinity(), -1};
  for_each_tap(pool, x.dims, at, [&](int64_t place, int64_t number) {
    if (place < 0 && !pool.zero_padding) return;
    const double value = place < 0 ? 0 : x.x[static_cast<size_t>(place)];
    if (best.second < 0 || value > best.first || (std::isnan(value) && !std::isnan(best.first))) {
      best = {value, number};
    }
  });
  return best;
}

double divisor(const Pool& pool, const Sizes& x, const Sizes& at) {
  double count = 0;
  for_each_tap(pool, x, at, [&](int64_t place, int64_t) {
    if (place >= 0 || pool.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING) count++;
  });
  return count;
}

}  // namespace

void make_resample_forward(const Descriptor& descriptor, Operation& operation) {
  const Descriptor& resample = *descriptor.descriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  const auto x = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
  const auto y = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
  const auto index = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC);
  const Pool pool = pool_of(resample, *x, *y);
  const bool max = pool.mode == CUDNN_RESAMPLE_MAXPOOL;
  demand(index == nullptr || (max && index->dims == y->dims), "only max pooling has an index, of y's size");
  operation.mode = pool.mode;
  operation.compute = resample.get<cudnnDataType_t>(CUDNN_ATTR_RESAMPLE_COMP_TYPE);
  operation.missing = missing_of(resample, pool);
  operation.run = [=](Values& values) {
    const Array& input = values.at(*x);
    Array result(y->dims), where(y->dims);
    size_t next = 0;
    for_each_index(y->dims, [&](const Sizes& at) {
      if (max) {
        std::tie(result.x[next], where.x[next]) = largest(pool, input, at);
      } else {
        for_each_tap(pool, x->dims, at, [&](int64_t place, int64_t) {
          if (place >= 0) result.x[next] += input.x[static_cast<size_t>(place)];
        });
        result.x[next] /= divisor(pool, x->dims, at);
      }
      next++;
    });
    values.set(*y, std::move(result));
    if (index != nullptr) values.set(*index, std::move(where));
  };
}

void make_resample_backward(const Descriptor& descriptor, Operation& operation) {
  const Descriptor& resample = *descriptor.descriptor(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC);
  const auto dx = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
  const auto dy = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC);
  const auto index = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC);
  const auto x = operation.at(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC);
  const Pool pool = pool_of(resample, *dx, *dy);
  const bool max = pool.mode == CUDNN_RESAMPLE_MAXPOOL;
  demand(!max || index != nullptr || x != nullptr, "max pooling backward needs the index, or x and y");
  operation.mode = pool.mode;
  operation.compute = resample.get<cudnnDataType_t>(CUDNN_ATTR_RESAMPLE_COMP_TYPE);
  operation.missing = missing_of(resample, pool);
  operation.run = [=](Values& values) {
    const Array& gradient = values.at(*dy);
    Array result(dx->dims);
    size_t next = 0;
    for_each_index(dy->dims, [&](const Sizes& at) {
      int64_t chosen = -1;
      if (max) {
        chosen = index != nullptr ? static_cast<int64_t>(values.at(*index).x[next])
                                  : largest(pool, values.at(*x), at).second;
      }
      const double share = max ? gradient.x[next] : gradient.x[next] / divisor(pool, dx->dims, at);
      for_each_tap(pool, dx->dims, at, [&](int64_t place, int64_t number) {
        if (place >= 0 && (!max || number == chosen)) result.x[static_cast<size_t>(place)] += share;
      });
      next++;
    });
    values.set(*dx, std::move(result));
  };
}

}  // namespace simdnn
