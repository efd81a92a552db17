// Pooling and norms against references that follow their formulas.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

#include <cmath>

using namespace drive;

namespace {

TensorOptions last(const Sizes& dims, cudnnDataType_t dtype = CUDNN_DATA_FLOAT) {
  return {.strides = channels_last(dims), .dtype = dtype};
}

struct PoolReference {
  Numbers y, index, dx;
};

/// Pools {2, 2, 5, 4} with windows of 3x2, strides of 2x1 and padding of 1 before and 0, 1 behind.
PoolReference pooled(cudnnResampleMode_t mode, const Numbers& x, const Numbers& dy) {
  PoolReference result = {{}, {}, Numbers(x.size(), 0)};
  for (int64_t at = 0; at < 2 * 2 * 2 * 5; at++) {
    const int64_t plane = at / 10, r = at / 5 % 2 * 2 - 1, c = at % 5 - 1;
    double best = -1e300, sum = 0, count = 0;
    int64_t where = -1;
    for (int pass = 0; pass < 2; pass++) {
      for (int64_t k = 0; k < 6; k++) {
        const int64_t i = r + k / 2, j = c + k % 2;
        if (i < 0 || i >= 5 || j < 0 || j >= 4) continue;
        const auto place = static_cast<size_t>(plane * 20 + i * 4 + j);
        const double divisor = mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ? 6 : count;
        if (pass == 1 && mode == CUDNN_RESAMPLE_MAXPOOL && k == where)
          result.dx[place] += dy[static_cast<size_t>(at)];
        if (pass == 1 && mode != CUDNN_RESAMPLE_MAXPOOL)
          result.dx[place] += dy[static_cast<size_t>(at)] / divisor;
        if (pass == 1) continue;
        count++;
        sum += x[place];
        if (x[place] > best) best = x[place], where = k;
      }
    }
    result.index.push_back(static_cast<double>(where));
    const double divisor = mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ? 6 : count;
    result.y.push_back(mode == CUDNN_RESAMPLE_MAXPOOL ? best : sum / divisor);
  }
  return result;
}

struct NormReference {
  Numbers y, mean, inverse, variance, dx, dscale, dbias;
};

/// `statistic` and `weight` tell where an element's are.
template <class Statistic, class Weight>
NormReference normed(bool centered, const Numbers& x, const Numbers& scale, const Numbers& bias,
                     const Numbers& dy, size_t statistics, const Statistic& statistic, const Weight& weight) {
  const double count = static_cast<double>(x.size() / statistics);
  NormReference r;
  r.mean.resize(statistics), r.variance.resize(statistics), r.inverse.resize(statistics);
  r.dscale.resize(scale.size()), r.dbias.resize(scale.size());
  Numbers g(statistics), gn(statistics);
  for (size_t i = 0; centered && i < x.size(); i++) r.mean[statistic(i)] += x[i] / count;
  for (size_t i = 0; i < x.size(); i++)
    r.variance[statistic(i)] += std::pow(x[i] - r.mean[statistic(i)], 2) / count;
  for (size_t s = 0; s < statistics; s++) r.inverse[s] = 1 / std::sqrt(r.variance[s] + 0.125);
  const auto normal = [&](size_t i) { return (x[i] - r.mean[statistic(i)]) * r.inverse[statistic(i)]; };
  for (size_t i = 0; i < x.size(); i++) {
    r.y.push_back(normal(i) * scale[weight(i)] + (bias.empty() ? 0 : bias[weight(i)]));
    r.dscale[weight(i)] += dy[i] * normal(i);
    r.dbias[weight(i)] += dy[i];
    if (centered) g[statistic(i)] += dy[i] * scale[weight(i)] / count;
    gn[statistic(i)] += dy[i] * scale[weight(i)] * normal(i) / count;
  }
  for (size_t i = 0; i < x.size(); i++) {
    const size_t s = statistic(i);
    r.dx.push_back(r.inverse[s] * (dy[i] * scale[weight(i)] - g[s] - normal(i) * gn[s]));
  }
  return r;
}

/// Both passes of a norm of {4, 16, 2, 3} beside the reference.
template <class Statistic, class Weight>
void check_norm(cudnnBackendNormMode_t mode, cudnnDataType_t type, const Sizes& statistics,
                const Sizes& weights, const Statistic& statistic, const Weight& weight) {
  CAPTURE(static_cast<int>(mode));
  const Sizes dims = {4, 16, 2, 3}, one = {1, 1, 1, 1};
  const bool centered = mode != CUDNN_RMS_NORM;
  const Tensor x(1, dims, last(dims, type)), y(2, dims, last(dims, type)), scale(3, weights, last(weights));
  const Tensor bias(4, weights, last(weights)), mean(5, statistics, last(statistics)),
      inverse(6, statistics, last(statistics));
  const Tensor epsilon(7, one, {.by_value = true}), dy(8, dims, last(dims, type)),
      dx(9, dims, last(dims, type));
  const Tensor dscale(10, weights, last(weights)), dbias(11, weights, last(weights));
  const Numbers nx = random_numbers(x), nscale = random_numbers(scale), nbias = random_numbers(bias),
                ndy = random_numbers(dy);
  const NormReference r = normed(centered, nx, nscale, centered ? nbias : Numbers{}, ndy,
                                 static_cast<size_t>(count(statistics)), statistic, weight);
  Tensors forward = {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, &x},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, &y},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, &scale},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, &inverse},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, &epsilon}};
  Tensors backward = {{CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, &x},
                      {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, &dy},
                      {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, &dx},
                      {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, &scale},
                      {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, &dscale},
                      {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, &inverse}};
  if (centered) {
    forward[CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC] = &bias;
    forward[CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC] = &mean;
    backward[CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC] = &mean;
    backward[CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC] = &dbias;
  }
  Graph first;
  first.norm_forward(mode, CUDNN_NORM_FWD_TRAINING, forward);
  Run run;
  run.input(x, nx).input(scale, nscale).value(7, 0.125F).output(y).output(inverse);
  if (centered) run.input(bias, nbias).output(mean);
  run.execute(first);
  CHECK(difference(run.get(y), r.y, type) == "");
  CHECK(difference(run.get(inverse), r.inverse, CUDNN_DATA_FLOAT) == "");
  if (centered) CHECK(difference(run.get(mean), r.mean, CUDNN_DATA_FLOAT) == "");
  Graph second;
  second.norm_backward(mode, backward);
  Run back;
  back.input(x, nx).input(scale, nscale).input(dy, ndy).input(inverse, r.inverse).output(dx).output(dscale);
  if (centered) back.input(mean, r.mean).output(dbias);
  back.execute(second);
  const auto near = [](const Numbers& got, const Numbers& expected, double tolerance) {
    for (size_t i = 0; i < got.size(); i++) CHECK(std::fabs(got[i] - expected[i]) < tolerance);
  };
  near(back.get(dx), r.dx, type == CUDNN_DATA_FLOAT ? 1e-5 : 2e-2);  // the statistics are rounded to float
  near(back.get(dscale), r.dscale, 1e-4);
  if (centered) CHECK(difference(back.get(dbias), r.dbias, CUDNN_DATA_FLOAT) == "");
}

}  // namespace

TEST_CASE("pooling and its gradients, with padding and an index") {
  for (const auto mode : {CUDNN_RESAMPLE_MAXPOOL, CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING,
                          CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING}) {
    const bool max = mode == CUDNN_RESAMPLE_MAXPOOL;
    const Sizes from = {2, 2, 5, 4}, to = {2, 2, 2, 5};
    const ResampleOptions options = {.mode = mode,
                                     .padding = max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD,
                                     .window = {3, 2},
                                     .stride = {2, 1},
                                     .pre = {1, 1},
                                     .post = {0, 1}};
    for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
      const Tensor x(1, from, last(from, type)), y(2, to, last(to, type)),
          index(3, to, last(to, CUDNN_DATA_INT8));
      const Tensor dy(4, to, last(to, type)), dx(5, from, last(from, type));
      const PoolReference r = pooled(mode, random_numbers(x), random_numbers(dy));
      Graph forward;
      forward.resample_forward(x, y, max ? &index : nullptr, options);
      Run run;
      run.input(x, random_numbers(x)).output(y);
      if (max) run.output(index);
      run.execute(forward);
      CHECK(difference(run.get(y), r.y, type) == "");
      if (max) CHECK(run.get(index) == r.index);
      Graph backward;
      Tensors tensors = {{CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, &dx},
                         {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, &dy}};
      if (max) tensors[CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC] = &index;
      backward.resample_backward(tensors, options);
      Run back;
      back.input(dy, random_numbers(dy)).output(dx);
      if (max) back.input(index, r.index);
      CHECK(difference(back.execute(backward).get(dx), r.dx, type) == "");
    }
  }
}

TEST_CASE("norms and their gradients") {
  const auto channel = [](size_t i) { return i / 6 % 16; };
  const auto batch = [](size_t i) { return i / 96; };
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    check_norm(CUDNN_BATCH_NORM, type, {1, 16, 1, 1}, {1, 16, 1, 1}, channel, channel);
    check_norm(
        CUDNN_INSTANCE_NORM, type, {4, 16, 1, 1}, {1, 16, 1, 1}, [](size_t i) { return i / 6; }, channel);
    check_norm(CUDNN_LAYER_NORM, type, {4, 1, 1, 1}, {1, 16, 2, 3}, batch, [](size_t i) { return i % 96; });
    check_norm(CUDNN_RMS_NORM, type, {4, 1, 1, 1}, {1, 16, 2, 3}, batch, [](size_t i) { return i % 96; });
  }
}

TEST_CASE("batch norm moves the running statistics, the variance that of a sample") {
  const Sizes dims = {4, 16, 2, 3}, channel = {1, 16, 1, 1}, one = {1, 1, 1, 1};
  const auto vector = [&](int64_t uid) { return Tensor(uid, channel, last(channel)); };
  const Tensor x(1, dims, last(dims)), y(2, dims, last(dims)), scale = vector(3), bias = vector(4),
                                                               mean = vector(5);
  const Tensor inverse = vector(6), old_mean = vector(7), old_var = vector(8), new_mean = vector(9),
               new_var = vector(10);
  const Tensor epsilon(11, one, {.by_value = true}), factor(12, one, {.by_value = true});
  Graph graph;
  graph.norm_forward(CUDNN_BATCH_NORM, CUDNN_NORM_FWD_TRAINING,
                     {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, &x},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, &y},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, &scale},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, &bias},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, &mean},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, &inverse},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, &epsilon},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, &factor},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, &old_mean},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, &old_var},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, &new_mean},
                      {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, &new_var}});
  Run run;
  run.input(x, random_numbers(x))
      .input(scale, Numbers(16, 1))
      .input(bias, Numbers(16, 0))
      .output(y)
      .output(mean);
  run.output(inverse).value(11, 0.125F).value(12, 0.25F).input(old_mean, random_numbers(old_mean));
  run.input(old_var, random_numbers(old_var)).output(new_mean).output(new_var).execute(graph);
  const auto channel_of = [](size_t i) { return i / 6 % 16; };
  const NormReference r =
      normed(true, random_numbers(x), Numbers(16, 1), {}, Numbers(384, 0), 16, channel_of, channel_of);
  Numbers means, variances;
  for (size_t c = 0; c < 16; c++) {
    means.push_back(0.75 * random_numbers(old_mean)[c] + 0.25 * r.mean[c]);
    variances.push_back(0.75 * random_numbers(old_var)[c] + 0.25 * r.variance[c] * 24 / 23);
  }
  CHECK(difference(run.get(new_mean), means, CUDNN_DATA_FLOAT) == "");
  CHECK(difference(run.get(new_var), variances, CUDNN_DATA_FLOAT) == "");
}
