#include <tern/tests/simgpu/cudnn/tests/support_cases.h>

namespace drive {
namespace {

constexpr cudnnDataType_t floating[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16,
                                        CUDNN_DATA_DOUBLE};
constexpr auto f32 = CUDNN_DATA_FLOAT, f16 = CUDNN_DATA_HALF, bf16 = CUDNN_DATA_BFLOAT16,
               f64 = CUDNN_DATA_DOUBLE, i32 = CUDNN_DATA_INT32, b8 = CUDNN_DATA_BOOLEAN, i8 = CUDNN_DATA_INT8;

TensorOptions of(const Sizes& dims, cudnnDataType_t dtype, bool last = false, bool is_virtual = false) {
  return {.strides = last ? channels_last(dims) : rows(dims), .dtype = dtype, .is_virtual = is_virtual};
}

SupportCase binary(const std::string& name, cudnnPointwiseMode_t mode, const Sizes& x_dims,
                   const Sizes& b_dims, cudnnDataType_t in, cudnnDataType_t out, bool last = false,
                   cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
  return {"pointwise, " + name, [=] {
            const Tensor x(1, x_dims, of(x_dims, in, last)), b(2, b_dims, of(b_dims, in, last));
            const Tensor y(3, x_dims, of(x_dims, out, last));
            Graph graph;
            graph.pointwise(mode, {.x = &x, .b = &b, .y = &y}, {.compute = compute});
            return graph;
          }};
}

SupportCase unary(const std::string& name, cudnnPointwiseMode_t mode, const Sizes& dims, cudnnDataType_t in,
                  cudnnDataType_t out, cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
  return {"pointwise, " + name, [=] {
            const Tensor x(1, dims, of(dims, in, true)), y(3, dims, of(dims, out, true));
            Graph graph;
            graph.pointwise(mode, {.x = &x, .y = &y}, {.compute = compute});
            return graph;
          }};
}

SupportCase backward(const std::string& name, cudnnPointwiseMode_t mode, cudnnDataType_t dtype) {
  return {"pointwise, " + name, [=] {
            const Sizes dims = {2, 16, 8, 8};
            const Tensor x(1, dims, of(dims, dtype, true)), dy(2, dims, of(dims, dtype, true));
            const Tensor dx(3, dims, of(dims, dtype, true));
            Graph graph;
            graph.pointwise(mode, {.x = &x, .dy = &dy, .dx = &dx});
            return graph;
          }};
}

struct MatmulShape {
  Sizes a = {4, 16, 32}, b = {4, 32, 24};
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT, out = CUDNN_DATA_FLOAT, compute = CUDNN_DATA_FLOAT;
  bool b_transposed = false, bias = false, gelu = false;
  int64_t alignment = 16;
};

Graph matmul(const MatmulShape& shape) {
  const size_t rank = shape.a.size();
  Sizes c = shape.a;
  for (size_t i = 0; i + 2 < rank; i++) c[i] = std::max(shape.a[i], shape.b[i]);
  c[rank - 1] = shape.b[rank - 1];
  Sizes b_strides = rows(shape.b);
  if (shape.b_transposed) {
    b_strides[rank - 2] = 1;
    b_strides[rank - 1] = shape.b[rank - 2];
  }
  const bool fused = shape.bias || shape.gelu;
  const Tensor a(1, shape.a, {.dtype = shape.dtype, .alignment = shape.alignment});
  const Tensor b(2, shape.b, {.strides = b_strides, .dtype = shape.dtype, .alignment = shape.alignment});
  const Tensor out(3, c, {.dtype = shape.out, .alignment = shape.alignment});
  const Tensor raw(4, c, {.dtype = shape.compute, .is_virtual = true}), t(5, c, {.is_virtual = true});
  Sizes row(rank, 1);
  row[rank - 1] = c[rank - 1];
  const Tensor bias(6, row, {.dtype = shape.out, .alignment = shape.alignment});
  Graph graph;
  graph.matmul(a, b, fused ? raw : out, shape.compute);
  if (shape.bias) graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = shape.gelu ? &t : &out});
  if (shape.gelu) graph.pointwise(CUDNN_POINTWISE_GELU_FWD, {.x = shape.bias ? &t : &raw, .y = &out});
  return graph;
}

SupportCase reduction(const std::string& name, cudnnReduceTensorOp_t mode, const Sizes& x, const Sizes& y,
                      cudnnDataType_t in, cudnnDataType_t out, bool last = false,
                      cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
  return {"reduction, " + name, [=] {
            const Tensor from(1, x, of(x, in, last)), to(2, y, of(y, out, last));
            Graph graph;
            graph.reduction(mode, from, to, compute);
            return graph;
          }};
}

}  // namespace

std::vector<SupportCase> pointwise_cases() {
  const Sizes d = {2, 16, 8, 8};
  std::vector<SupportCase> cases;
  for (const cudnnDataType_t t : floating) {
    const std::string name = name_of(t);
    cases.push_back(binary("add, " + name, CUDNN_POINTWISE_ADD, d, d, t, t));
    cases.push_back(binary("add, NHWC, " + name, CUDNN_POINTWISE_ADD, d, d, t, t, true));
    cases.push_back(binary("add channels, " + name, CUDNN_POINTWISE_ADD, d, {1, 16, 1, 1}, t, t, true));
    cases.push_back(binary("add a scalar, " + name, CUDNN_POINTWISE_ADD, d, {1, 1, 1, 1}, t, t, true));
    cases.push_back(binary("add odd sizes, " + name, CUDNN_POINTWISE_ADD, {3, 5, 7}, {3, 5, 7}, t, t));
    cases.push_back(
        binary("add one element, " + name, CUDNN_POINTWISE_ADD, {1, 1, 1, 1}, {1, 1, 1, 1}, t, t));
    cases.push_back(
        binary("add one channel, " + name, CUDNN_POINTWISE_ADD, {2, 1, 8, 8}, {2, 1, 8, 8}, t, t));
    cases.push_back(
        binary("add vectors, " + name, CUDNN_POINTWISE_ADD, {1, 64, 1, 1}, {1, 64, 1, 1}, t, t, true));
    cases.push_back(
        binary("add 5-D, NHWC, " + name, CUDNN_POINTWISE_ADD, {2, 8, 2, 3, 4}, {2, 8, 2, 3, 4}, t, t, true));
    cases.push_back(binary("add a row, 3-D, " + name, CUDNN_POINTWISE_ADD, {2, 8, 16}, {1, 1, 16}, t, t));
    cases.push_back(binary("add a column, 3-D, " + name, CUDNN_POINTWISE_ADD, {2, 8, 16}, {2, 8, 1}, t, t));
    cases.push_back(binary("add 2-D, " + name, CUDNN_POINTWISE_ADD, {16, 32}, {16, 32}, t, t));
    cases.push_back(
        binary("add 6-D, " + name, CUDNN_POINTWISE_ADD, {2, 2, 2, 2, 2, 8}, {2, 2, 2, 2, 2, 8}, t, t));
    cases.push_back(binary("add in double, " + name, CUDNN_POINTWISE_ADD, d, d, t, t, true, f64));
    cases.push_back(binary("greater, " + name, CUDNN_POINTWISE_CMP_GT, d, d, t, b8, true));
    cases.push_back(unary("exp, " + name, CUDNN_POINTWISE_EXP, d, t, t));
    cases.push_back(unary("identity to float, " + name, CUDNN_POINTWISE_IDENTITY, d, t, f32));
    cases.push_back(unary("identity to half, " + name, CUDNN_POINTWISE_IDENTITY, d, t, f16));
    cases.push_back(backward("relu backward, " + name, CUDNN_POINTWISE_RELU_BWD, t));
    cases.push_back(backward("gelu backward, " + name, CUDNN_POINTWISE_GELU_BWD, t));
  }
  for (const int mode : {0, 5, 6, 3, 2, 7, 1, 8, 9, 23}) {
    cases.push_back(binary("mode " + std::to_string(mode), static_cast<cudnnPointwiseMode_t>(mode), d, d, f32,
                           f32, true));
  }
  for (const int mode :
       {10, 11, 12, 13, 14, 15, 16, 17, 18, 4, 19, 20, 21, 22, 100, 101, 102, 103, 104, 105, 106, 107}) {
    cases.push_back(
        unary("mode " + std::to_string(mode), static_cast<cudnnPointwiseMode_t>(mode), d, f32, f32));
  }
  for (const int mode : {200, 201, 202, 203, 204, 205, 206, 207}) {
    cases.push_back(backward("mode " + std::to_string(mode), static_cast<cudnnPointwiseMode_t>(mode), f32));
  }
  for (const int mode : {300, 301, 302, 303, 304, 305}) {
    cases.push_back(
        binary("mode " + std::to_string(mode), static_cast<cudnnPointwiseMode_t>(mode), d, d, f32, b8, true));
  }
  cases.push_back(binary("and", CUDNN_POINTWISE_LOGICAL_AND, d, d, b8, b8, true, b8));
  cases.push_back(binary("or", CUDNN_POINTWISE_LOGICAL_OR, d, d, b8, b8, true, b8));
  cases.push_back(unary("not", CUDNN_POINTWISE_LOGICAL_NOT, d, b8, b8, b8));
  cases.push_back(binary("add int32", CUDNN_POINTWISE_ADD, d, d, i32, i32, true, i32));
  cases.push_back(binary("add int32 in float", CUDNN_POINTWISE_ADD, d, d, i32, i32, true));
  cases.push_back(binary("add int8", CUDNN_POINTWISE_ADD, d, d, i8, i8, true));
  cases.push_back(binary("add int64", CUDNN_POINTWISE_ADD, d, d, CUDNN_DATA_INT64, CUDNN_DATA_INT64, true));
  return cases;
}

std::vector<SupportCase> matmul_cases() {
  std::vector<SupportCase> cases;
  const auto add = [&](const std::string& name, const MatmulShape& shape) {
    cases.push_back({"matmul, " + name, [shape] { return matmul(shape); }});
  };
  for (const cudnnDataType_t t : {f32, f16, bf16, f64, i8}) {
    const cudnnDataType_t compute = t == f64 ? f64 : t == i8 ? i32 : f32;
    const cudnnDataType_t out = t == i8 ? i32 : t;
    for (const bool fused : {false, true}) {
      const std::string name = name_of(t) + (fused ? ", bias and gelu" : "");
      const auto variant = [&](const std::string& text, MatmulShape shape) {
        shape.dtype = t, shape.out = out, shape.compute = compute, shape.bias = shape.gelu = fused;
        add(name + ", " + text, shape);
      };
      variant("plain", {});
      variant("b transposed", {.b_transposed = true});
      variant("odd sizes", {.a = {1, 3, 5}, .b = {1, 5, 7}});
      variant("sizes of 4", {.a = {1, 4, 12}, .b = {1, 12, 20}});
      variant("a broadcast", {.a = {1, 16, 32}});
      variant("b broadcast", {.b = {1, 32, 24}});
      variant("4-D", {.a = {2, 3, 16, 32}, .b = {2, 3, 32, 24}});
      variant("2-D", {.a = {16, 32}, .b = {32, 24}});
      variant("one row", {.a = {1, 1, 32}, .b = {1, 32, 24}});
      variant("alignment of 8", {.alignment = 8});
    }
    add(name_of(t) + " to float", {.dtype = t, .out = f32, .compute = compute});
  }
  return cases;
}

std::vector<SupportCase> reduction_cases() {
  const Sizes d = {2, 16, 8, 8};
  std::vector<SupportCase> cases;
  for (const cudnnDataType_t t : floating) {
    const std::string name = name_of(t);
    for (const bool last : {false, true}) {
      const std::string text = name + (last ? ", NHWC" : "");
      cases.push_back(reduction("channels, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {1, 16, 1, 1}, t, t, last));
      cases.push_back(
          reduction("channels, to float, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {1, 16, 1, 1}, t, f32, last));
      cases.push_back(reduction("all, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {1, 1, 1, 1}, t, f32, last));
      cases.push_back(reduction("first, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {1, 16, 8, 8}, t, f32, last));
      cases.push_back(reduction("last, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {2, 16, 8, 1}, t, f32, last));
      cases.push_back(reduction("image, " + text, CUDNN_REDUCE_TENSOR_ADD, d, {2, 16, 1, 1}, t, f32, last));
    }
    cases.push_back(
        reduction("rows of a matrix, " + name, CUDNN_REDUCE_TENSOR_ADD, {1, 32, 64}, {1, 32, 1}, t, f32));
    cases.push_back(
        reduction("columns of a matrix, " + name, CUDNN_REDUCE_TENSOR_ADD, {1, 32, 64}, {1, 1, 64}, t, f32));
    cases.push_back(
        reduction("columns, odd, " + name, CUDNN_REDUCE_TENSOR_ADD, {1, 33, 65}, {1, 1, 65}, t, f32));
  }
  for (const int mode : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    cases.push_back(reduction("mode " + std::to_string(mode), static_cast<cudnnReduceTensorOp_t>(mode), d,
                              {1, 16, 1, 1}, f32, f32, true));
  }
  return cases;
}

}  // namespace drive
