#include <tern/tests/simgpu/cudnn/tests/support_cases.h>

namespace drive {
namespace {

constexpr cudnnDataType_t floating[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16,
                                        CUDNN_DATA_DOUBLE};
constexpr cudnnDataType_t fusable[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
constexpr Convolution kinds[] = {Convolution::forward, Convolution::backward_data,
                                 Convolution::backward_filter};

std::string name_of(Convolution kind) {
  const char* const names[] = {"forward", "backward data", "backward filter"};
  return names[static_cast<int>(kind)];
}

struct Shape {
  int64_t n = 2, c = 16, k = 32, groups = 1;
  Sizes image = {8, 8}, window = {3, 3};
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT;
  bool channels_last = true;
  int64_t alignment = 16;
};

Sizes join(Sizes front, const Sizes& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

/// x, w and y of a convolution that has padding 1 on both sides for windows of 3.
std::vector<Tensor> tensors(const Shape& shape, const ConvolutionOptions& options) {
  Sizes out;
  for (size_t i = 0; i < shape.image.size(); i++) {
    const int64_t stride = options.stride.empty() ? 1 : options.stride[i];
    const int64_t dilation = options.dilation.empty() ? 1 : options.dilation[i];
    const int64_t pad = options.pre.empty() ? 0 : options.pre[i] + options.post[i];
    out.push_back((shape.image[i] + pad - (shape.window[i] - 1) * dilation - 1) / stride + 1);
  }
  const Sizes dims[] = {join({shape.n, shape.c}, shape.image),
                        join({shape.k, shape.c / shape.groups}, shape.window), join({shape.n, shape.k}, out)};
  std::vector<Tensor> result;
  for (int64_t i = 0; i < 3; i++) {
    result.emplace_back(i + 1, dims[i],
                        TensorOptions{.strides = shape.channels_last ? channels_last(dims[i]) : rows(dims[i]),
                                      .dtype = shape.dtype,
                                      .alignment = shape.alignment});
  }
  return result;
}

SupportCase one(const std::string& name, Convolution kind, Shape shape, ConvolutionOptions options) {
  if (options.compute == CUDNN_DATA_FLOAT && shape.dtype == CUDNN_DATA_DOUBLE)
    options.compute = CUDNN_DATA_DOUBLE;
  return {name_of(kind) + ", " + drive::name_of(shape.dtype) + ", " + name, [=] {
            const std::vector<Tensor> t = tensors(shape, options);
            Graph graph;
            graph.convolution(kind, t[0], t[1], t[2], options);
            return graph;
          }};
}

void add_shapes(std::vector<SupportCase>& cases, Convolution kind, cudnnDataType_t dtype) {
  for (const bool last : {true, false}) {
    const std::string layout = last ? ", NHWC" : ", NCHW";
    const auto add = [&](const std::string& name, Shape shape, const ConvolutionOptions& options = {}) {
      shape.dtype = dtype;
      shape.channels_last = last;
      cases.push_back(one(name + layout, kind, shape, options));
    };
    add("plain", {});
    add("3 channels in, 5 out", {.c = 3, .k = 5});
    add("padding", {}, {.pre = {1, 1}, .post = {1, 1}});
    add("uneven padding", {}, {.pre = {0, 1}, .post = {1, 0}});
    add("strides", {}, {.pre = {1, 1}, .post = {1, 1}, .stride = {2, 2}});
    add("dilation", {}, {.pre = {2, 2}, .post = {2, 2}, .dilation = {2, 2}});
    add("4 groups", {.groups = 4});
    add("depthwise", {.k = 16, .groups = 16});
    add("1-D", {.image = {8}, .window = {3}});
    add("3-D", {.image = {4, 5, 6}, .window = {3, 3, 3}});
    add("true convolution", {}, {.mode = CUDNN_CONVOLUTION});
    add("alpha 2, beta 1", {}, {.alpha = 2, .beta = 1});
    add("beta 1", {}, {.beta = 1});
    add("alignment of an element", {.alignment = dtype == CUDNN_DATA_DOUBLE  ? 8
                                                 : dtype == CUDNN_DATA_FLOAT ? 4
                                                                             : 2});
    if (dtype == CUDNN_DATA_HALF) add("computed in half", {}, {.compute = CUDNN_DATA_HALF});
  }
}

SupportCase mixed(const std::string& name, Convolution kind, cudnnDataType_t tx, cudnnDataType_t tw,
                  cudnnDataType_t ty, bool x_last, bool w_last, bool y_last) {
  return {name_of(kind) + ", mixed: " + name, [=] {
            const Sizes dims[] = {{2, 16, 8, 8}, {32, 16, 3, 3}, {2, 32, 6, 6}};
            const auto strides = [&](int i, bool last) {
              return last ? channels_last(dims[i]) : rows(dims[i]);
            };
            const Tensor x(1, dims[0], {.strides = strides(0, x_last), .dtype = tx});
            const Tensor w(2, dims[1], {.strides = strides(1, w_last), .dtype = tw});
            const Tensor y(3, dims[2], {.strides = strides(2, y_last), .dtype = ty});
            Graph graph;
            graph.convolution(kind, x, w, y,
                              {.compute = tx == CUDNN_DATA_INT8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT});
            return graph;
          }};
}

enum class Fusion { bias, bias_relu, scale_bias_add_relu, bias_gelu, statistics };

/// A forward convolution of relu(x * scale), with `hidden` for what lies between.
Graph with_prologue(const Shape& shape, cudnnDataType_t hidden) {
  const ConvolutionOptions options = {.pre = {1, 1}, .post = {1, 1}};
  const std::vector<Tensor> t = tensors(shape, options);
  const Sizes channels = {1, t[0].dims[1], 1, 1};
  const TensorOptions between = {.strides = t[0].options.strides, .dtype = hidden, .is_virtual = true};
  const Tensor scale(12, channels, {.strides = channels_last(channels), .dtype = shape.dtype});
  const Tensor scaled(20, t[0].dims, between), active(21, t[0].dims, between);
  Graph graph;
  graph.pointwise(CUDNN_POINTWISE_MUL, {.x = &t[0], .b = &scale, .y = &scaled});
  graph.pointwise(CUDNN_POINTWISE_RELU_FWD, {.x = &scaled, .y = &active});
  graph.convolution(Convolution::forward, active, t[1], t[2], options);
  return graph;
}

/// A convolution whose result is virtual, and what comes after it.
Graph fused(Convolution kind, Fusion fusion, Shape shape) {
  const ConvolutionOptions options = {.pre = {1, 1}, .post = {1, 1}};
  std::vector<Tensor> t = tensors(shape, options);
  Graph graph;
  const size_t which = kind == Convolution::forward ? 2 : kind == Convolution::backward_data ? 0 : 1;
  const Tensor& end = t[which];
  const auto like = [&](int64_t uid, bool is_virtual) {
    return Tensor(uid, end.dims,
                  {.strides = end.options.strides,
                   .dtype = is_virtual ? CUDNN_DATA_FLOAT : shape.dtype,
                   .is_virtual = is_virtual,
                   .alignment = is_virtual ? 16 : shape.alignment});
  };
  const Sizes per_channel = {1, end.dims[1], 1, 1};
  const Tensor bias(
      10, per_channel,
      {.strides = channels_last(per_channel), .dtype = shape.dtype, .alignment = shape.alignment});
  const Tensor scale(
      11, per_channel,
      {.strides = channels_last(per_channel), .dtype = shape.dtype, .alignment = shape.alignment});
  const Tensor raw = like(20, true), a = like(21, true), b = like(22, true), added = like(23, false);
  std::vector<const Tensor*> ends = {&t[0], &t[1], &t[2]};
  ends[which] = &raw;
  graph.convolution(kind, *ends[0], *ends[1], *ends[2], options);
  switch (fusion) {
    case Fusion::bias:
      graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = &end});
      break;
    case Fusion::bias_relu:
      graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = &a});
      graph.pointwise(CUDNN_POINTWISE_RELU_FWD, {.x = &a, .y = &end});
      break;
    case Fusion::bias_gelu:
      graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = &a});
      graph.pointwise(CUDNN_POINTWISE_GELU_FWD, {.x = &a, .y = &end});
      break;
    case Fusion::scale_bias_add_relu: {
      const Tensor c = like(24, true);
      graph.pointwise(CUDNN_POINTWISE_MUL, {.x = &raw, .b = &scale, .y = &a});
      graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &a, .b = &bias, .y = &b});
      graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &b, .b = &added, .y = &c});
      graph.pointwise(CUDNN_POINTWISE_RELU_FWD, {.x = &c, .y = &end});
      break;
    }
    default: {
      graph.pointwise(CUDNN_POINTWISE_IDENTITY, {.x = &raw, .y = &end});
      const Tensor sum(30, per_channel, {.strides = channels_last(per_channel)});
      graph.reduction(CUDNN_REDUCE_TENSOR_ADD, raw, sum);
    }
  }
  return graph;
}

}  // namespace

std::vector<SupportCase> convolution_cases() {
  std::vector<SupportCase> cases;
  for (const Convolution kind : kinds) {
    for (const cudnnDataType_t dtype : floating) add_shapes(cases, kind, dtype);
    const auto h = CUDNN_DATA_HALF, f = CUDNN_DATA_FLOAT, i8 = CUDNN_DATA_INT8, i32 = CUDNN_DATA_INT32;
    cases.push_back(mixed("x and w half, y float", kind, h, h, f, true, true, true));
    cases.push_back(mixed("x half, w and y float", kind, h, f, f, true, true, true));
    cases.push_back(mixed("w float, x and y half", kind, h, f, h, true, true, true));
    cases.push_back(mixed("half and bfloat16", kind, h, CUDNN_DATA_BFLOAT16, h, true, true, true));
    cases.push_back(mixed("x NHWC, w NCHW, y NHWC", kind, f, f, f, true, false, true));
    cases.push_back(mixed("x NHWC, w NCHW, y NHWC, half", kind, h, h, h, true, false, true));
    cases.push_back(mixed("x NCHW, w NCHW, y NHWC", kind, f, f, f, false, false, true));
    cases.push_back(mixed("x NCHW, w NHWC, y NCHW, half", kind, h, h, h, false, true, false));
    cases.push_back(mixed("int8", kind, i8, i8, i8, true, true, true));
    cases.push_back(mixed("int8 to int32", kind, i8, i8, i32, true, true, true));
    cases.push_back(mixed("int8 to float", kind, i8, i8, f, true, true, true));
    cases.push_back(mixed("int8, NCHW", kind, i8, i8, i8, false, false, false));
  }
  return cases;
}

std::vector<SupportCase> fused_convolution_cases() {
  std::vector<SupportCase> cases;
  const std::pair<Fusion, const char*> fusions[] = {
      {Fusion::bias, "bias"},
      {Fusion::bias_relu, "bias and relu"},
      {Fusion::bias_gelu, "bias and gelu"},
      {Fusion::scale_bias_add_relu, "scale, bias, sum and relu"},
      {Fusion::statistics, "sum of channels"}};
  for (const Convolution kind : kinds) {
    for (const auto& [fusion, name] : fusions) {
      for (const cudnnDataType_t dtype : fusable) {
        const int64_t element = dtype == CUDNN_DATA_FLOAT ? 4 : 2;
        const std::pair<const char*, Shape> shapes[] = {{"NHWC", {}},
                                                        {"NCHW", {.channels_last = false}},
                                                        {"3 channels in, 5 out, NHWC", {.c = 3, .k = 5}},
                                                        {"12 channels in, 20 out, NHWC", {.c = 12, .k = 20}},
                                                        {"alignment of an element", {.alignment = element}},
                                                        {"4 groups, NHWC", {.groups = 4}}};
        if (fusion == Fusion::statistics && kind == Convolution::backward_filter) continue;  // nobody does it
        for (const auto& [text, plain] : shapes) {
          auto shape = plain;
          shape.dtype = dtype;
          cases.push_back({name_of(kind) + " fused, " + drive::name_of(dtype) + ", " + name + ", " + text,
                           [kind, f = fusion, shape] { return fused(kind, f, shape); }});
        }
      }
    }
  }
  for (const cudnnDataType_t dtype : fusable) {
    for (const int64_t channels : {16, 12, 3}) {
      cases.push_back(
          {"scale and relu before, " + drive::name_of(dtype) + ", " + std::to_string(channels) + " channels",
           [=] { return with_prologue({.c = channels, .dtype = dtype}, dtype); }});
    }
  }
  return cases;
}

}  // namespace drive
