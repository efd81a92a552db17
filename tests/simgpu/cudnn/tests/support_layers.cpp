#include <tern/tests/simgpu/cudnn/tests/support_cases.h>

namespace drive {
namespace {

constexpr cudnnDataType_t floating[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16,
                                        CUDNN_DATA_DOUBLE};
constexpr auto f32 = CUDNN_DATA_FLOAT;

TensorOptions of(const Sizes& dims, cudnnDataType_t dtype, bool last = false) {
  return {.strides = last ? channels_last(dims) : rows(dims), .dtype = dtype};
}

struct PoolShape {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT;
  bool last = true, index = false, backward = false;
  int64_t channels = 16;
  cudnnDataType_t index_dtype = CUDNN_DATA_INT8;
  int64_t pad = 0, spatial = 2;
};

Graph pool(const PoolShape& s) {
  Sizes x = {2, s.channels}, y = {2, s.channels};
  x.resize(static_cast<size_t>(2 + s.spatial), 8);
  y.resize(x.size(), s.pad == 0 ? 4 : 5);
  const size_t n = static_cast<size_t>(s.spatial);
  ResampleOptions options = {.mode = s.mode,
                             .padding = s.mode == CUDNN_RESAMPLE_MAXPOOL ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD,
                             .window = Sizes(n, 2),
                             .stride = Sizes(n, 2),
                             .pre = Sizes(n, s.pad),
                             .post = Sizes(n, s.pad)};
  const Tensor in(1, x, of(x, s.dtype, s.last)), out(2, y, of(y, s.dtype, s.last));
  const Tensor index(3, y, of(y, s.index_dtype, s.last));
  Graph graph;
  if (!s.backward) {
    graph.resample_forward(in, out, s.index ? &index : nullptr, options);
    return graph;
  }
  Tensors tensors = {{CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, &in},
                     {CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, &out}};
  if (s.index) tensors[CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC] = &index;
  graph.resample_backward(tensors, options);
  return graph;
}

struct NormShape {
  cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT, stats = CUDNN_DATA_FLOAT, weights = CUDNN_DATA_FLOAT;
  bool last = true, training = true, running = false;
  Sizes x = {4, 16, 8, 8};
};

Sizes weight_dims(const NormShape& s) {
  Sizes dims(s.x.size(), 1);
  if (s.mode == CUDNN_BATCH_NORM || s.mode == CUDNN_INSTANCE_NORM) {
    dims[1] = s.x[1];
  } else {
    for (size_t i = dims.size() == 3 ? 2 : 1; i < dims.size(); i++) dims[i] = s.x[i];
  }
  return dims;
}

Sizes statistics_dims(const NormShape& s) {
  Sizes dims(s.x.size(), 1);
  if (s.mode == CUDNN_BATCH_NORM || s.mode == CUDNN_INSTANCE_NORM) dims[1] = s.x[1];
  if (s.mode != CUDNN_BATCH_NORM) dims[0] = s.x[0];
  if (s.x.size() == 3) dims[1] = s.x[1];
  return dims;
}

Graph norm_forward(const NormShape& s) {
  const Sizes w = weight_dims(s), m = statistics_dims(s), one(s.x.size(), 1);
  const Tensor x(1, s.x, of(s.x, s.dtype, s.last)), y(2, s.x, of(s.x, s.dtype, s.last));
  const Tensor scale(3, w, of(w, s.weights, s.last)), bias(4, w, of(w, s.weights, s.last));
  const Tensor mean(5, m, of(m, s.stats, s.last)), inverse(6, m, of(m, s.stats, s.last));
  const Tensor epsilon(7, one, {.by_value = true}), factor(8, one, {.by_value = true});
  const Tensor old_mean(9, m, of(m, s.stats, s.last)), old_var(10, m, of(m, s.stats, s.last));
  const Tensor new_mean(11, m, of(m, s.stats, s.last)), new_var(12, m, of(m, s.stats, s.last));
  Tensors tensors = {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, &x},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, &y},
                     {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, &scale}};
  if (s.mode != CUDNN_RMS_NORM) tensors[CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC] = &bias;
  if (s.training || s.mode == CUDNN_BATCH_NORM) {
    if (s.mode != CUDNN_RMS_NORM) tensors[CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC] = &mean;
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC] = &inverse;
  }
  if (s.training || s.mode != CUDNN_BATCH_NORM)
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC] = &epsilon;
  if (s.running) {
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC] = &factor;
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC] = &old_mean;
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC] = &old_var;
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC] = &new_mean;
    tensors[CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC] = &new_var;
  }
  Graph graph;
  graph.norm_forward(s.mode, s.training ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE, tensors);
  return graph;
}

Graph norm_backward(const NormShape& s) {
  const Sizes w = weight_dims(s), m = statistics_dims(s), one(s.x.size(), 1);
  const Tensor x(1, s.x, of(s.x, s.dtype, s.last)), dy(2, s.x, of(s.x, s.dtype, s.last));
  const Tensor dx(3, s.x, of(s.x, s.dtype, s.last)), scale(4, w, of(w, s.weights, s.last));
  const Tensor mean(5, m, of(m, s.stats, s.last)), inverse(6, m, of(m, s.stats, s.last));
  const Tensor dscale(7, w, of(w, s.weights, s.last)), dbias(8, w, of(w, s.weights, s.last));
  Tensors tensors = {{CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, &x},
                     {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, &dy},
                     {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, &dx},
                     {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, &scale},
                     {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, &inverse},
                     {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, &dscale}};
  if (s.mode != CUDNN_RMS_NORM) {
    tensors[CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC] = &mean;
    tensors[CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC] = &dbias;
  }
  Graph graph;
  graph.norm_backward(s.mode, tensors);
  return graph;
}

SupportCase reshape(const std::string& name, const Sizes& x, const Sizes& y, cudnnDataType_t dtype) {
  return {"reshape, " + name, [=] {
            const Tensor from(1, x, {.dtype = dtype}), to(2, y, {.dtype = dtype});
            Graph graph;
            graph.reshape(from, to);
            return graph;
          }};
}

}  // namespace

std::vector<SupportCase> resample_cases() {
  std::vector<SupportCase> cases;
  const auto add = [&](const std::string& name, const PoolShape& shape) {
    cases.push_back({"resample, " + name, [shape] { return pool(shape); }});
  };
  const std::pair<cudnnResampleMode_t, const char*> modes[] = {
      {CUDNN_RESAMPLE_MAXPOOL, "max"},
      {CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING, "average with padding"},
      {CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING, "average"}};
  for (const auto& [mode, mode_name] : modes) {
    for (const cudnnDataType_t t : floating) {
      for (const bool back : {false, true}) {
        const std::string name = mode_name + std::string(back ? " backward, " : ", ") + name_of(t);
        const bool index = back && mode == CUDNN_RESAMPLE_MAXPOOL;
        add(name + ", NHWC", {.mode = mode, .dtype = t, .index = index, .backward = back});
        add(name + ", NCHW", {.mode = mode, .dtype = t, .last = false, .index = index, .backward = back});
        add(name + ", 3 channels",
            {.mode = mode, .dtype = t, .index = index, .backward = back, .channels = 3});
        add(name + ", padding", {.mode = mode, .dtype = t, .index = index, .backward = back, .pad = 1});
        add(name + ", 3-D", {.mode = mode, .dtype = t, .index = index, .backward = back, .spatial = 3});
      }
      if (mode != CUDNN_RESAMPLE_MAXPOOL) continue;
      add("max with index, NHWC, " + name_of(t), {.dtype = t, .index = true});
      add("max with index, NCHW, " + name_of(t), {.dtype = t, .last = false, .index = true});
      add("max with int32 index, " + name_of(t),
          {.dtype = t, .index = true, .index_dtype = CUDNN_DATA_INT32});
      add("max with int64 index, " + name_of(t),
          {.dtype = t, .index = true, .index_dtype = CUDNN_DATA_INT64});
    }
  }
  return cases;
}

std::vector<SupportCase> norm_cases() {
  std::vector<SupportCase> cases;
  const std::pair<cudnnBackendNormMode_t, const char*> modes[] = {{CUDNN_BATCH_NORM, "batch norm"},
                                                                  {CUDNN_LAYER_NORM, "layer norm"},
                                                                  {CUDNN_INSTANCE_NORM, "instance norm"},
                                                                  {CUDNN_RMS_NORM, "rms norm"}};
  for (const auto& [mode, mode_name] : modes) {
    for (const cudnnDataType_t t : floating) {
      const auto add = [&, m = mode, n = std::string(mode_name)](const std::string& text, NormShape shape) {
        shape.mode = m, shape.dtype = t;
        if (t == CUDNN_DATA_DOUBLE) shape.stats = shape.weights = t;
        const std::string name = n + ", " + name_of(t) + ", " + text;
        cases.push_back({name + ", inference", [shape]() mutable {
                           shape.training = false;
                           return norm_forward(shape);
                         }});
        cases.push_back({name + ", training", [shape] { return norm_forward(shape); }});
        cases.push_back({name + ", backward", [shape] { return norm_backward(shape); }});
      };
      add("NHWC", {});
      add("NCHW", {.last = false});
      add("3 channels", {.x = {4, 3, 8, 8}});
      add("12 channels", {.x = {4, 12, 8, 8}});
      add("weights of the same type", {.weights = t});
      add("batch of one", {.x = {1, 16, 8, 8}});
      if (mode == CUDNN_BATCH_NORM) {
        cases.push_back({"batch norm, " + name_of(t) + ", running statistics", [t = t] {
                           return norm_forward({.mode = CUDNN_BATCH_NORM, .dtype = t, .running = true});
                         }});
        add("3-D", {.x = {4, 16, 4, 4, 4}});
        add("1-D", {.x = {4, 16, 8}});
      } else {
        if (mode != CUDNN_INSTANCE_NORM) add("tokens", {.last = false, .x = {4, 8, 64}});
        add("matrix", {.last = false, .x = {32, 64, 1, 1}});
        add("odd matrix", {.last = false, .x = {5, 33, 1, 1}});
      }
    }
  }
  return cases;
}

std::vector<SupportCase> rearrange_cases() {
  std::vector<SupportCase> cases;
  for (const cudnnDataType_t t : floating) {
    cases.push_back(reshape("to 3-D, " + name_of(t), {2, 3, 4, 5}, {6, 4, 5}, t));
    cases.push_back(reshape("same rank, " + name_of(t), {2, 3, 4, 5}, {6, 1, 4, 5}, t));
    cases.push_back({"concatenate channels, " + name_of(t), [t = t] {
                       const Tensor a(1, {2, 8, 4, 4}, of({2, 8, 4, 4}, t, true));
                       const Tensor b(2, {2, 16, 4, 4}, of({2, 16, 4, 4}, t, true));
                       const Tensor y(3, {2, 24, 4, 4}, of({2, 24, 4, 4}, t, true));
                       Graph graph;
                       graph.concatenate(1, {&a, &b}, y);
                       return graph;
                     }});
    cases.push_back({"concatenate batches, " + name_of(t), [t = t] {
                       const Tensor a(1, {2, 8, 4, 4}, of({2, 8, 4, 4}, t, true));
                       const Tensor b(2, {3, 8, 4, 4}, of({3, 8, 4, 4}, t, true));
                       const Tensor y(3, {5, 8, 4, 4}, of({5, 8, 4, 4}, t, true));
                       Graph graph;
                       graph.concatenate(0, {&a, &b}, y);
                       return graph;
                     }});
  }
  return cases;
}

}  // namespace drive
