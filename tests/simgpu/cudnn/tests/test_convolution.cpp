// Convolutions in all directions against a reference that walks over every element of everything.
#include <doctest/doctest.h>
#include <tern/tests/simgpu/cudnn/tests/run.h>

using namespace drive;

namespace {

struct Case {
  const char* name;
  Sizes x, w;
  ConvolutionOptions options;
  cudnnDataType_t dtype = CUDNN_DATA_FLOAT;
  bool last = false;
};

Sizes with_default(const Sizes& given, size_t count, int64_t value) {
  return given.empty() ? Sizes(count, value) : given;
}

struct Layout {
  Sizes pre, post, stride, dilation, y;
};

Layout layout_of(const Case& c) {
  const size_t n = c.x.size() - 2;
  Layout l = {with_default(c.options.pre, n, 0),
              with_default(c.options.post, n, 0),
              with_default(c.options.stride, n, 1),
              with_default(c.options.dilation, n, 1),
              {c.x[0], c.w[0]}};
  for (size_t d = 0; d < n; d++) {
    l.y.push_back((c.x[d + 2] + l.pre[d] + l.post[d] - (c.w[d + 2] - 1) * l.dilation[d] - 1) / l.stride[d] +
                  1);
  }
  return l;
}

/// The index that is number `i` of all of these sizes.
Sizes index_of(int64_t i, const Sizes& dims) {
  Sizes index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = i % dims[d];
    i /= dims[d];
  }
  return index;
}

/// For every place of x and w at once: the place of y that their product is added to, or -1.
int64_t meeting(const Case& c, const Layout& l, const Sizes& x, const Sizes& w) {
  const int64_t groups = c.x[1] / c.w[1], filters = c.w[0] / groups;
  if (w[0] / filters != x[1] / c.w[1] || x[1] % c.w[1] != w[1]) return -1;
  int64_t place = x[0] * l.y[1] + w[0];
  for (size_t d = 0; d + 2 < x.size(); d++) {
    const int64_t tap = c.options.mode == CUDNN_CONVOLUTION ? c.w[d + 2] - 1 - w[d + 2] : w[d + 2];
    const int64_t from = x[d + 2] + l.pre[d] - tap * l.dilation[d];
    if (from % l.stride[d] != 0 || from < 0 || from / l.stride[d] >= l.y[d + 2]) return -1;
    place = place * l.y[d + 2] + from / l.stride[d];
  }
  return place;
}

Numbers reference(const Case& c, const Layout& l, Convolution kind, const Numbers& a, const Numbers& b,
                  Numbers prior) {
  for (double& value : prior) value *= c.options.beta;
  for (int64_t i = 0; i < count(c.x); i++) {
    for (int64_t j = 0; j < count(c.w); j++) {
      const int64_t at = meeting(c, l, index_of(i, c.x), index_of(j, c.w));
      if (at < 0) continue;
      const auto x = static_cast<size_t>(i), w = static_cast<size_t>(j), y = static_cast<size_t>(at);
      if (kind == Convolution::forward) prior[y] += c.options.alpha * a[x] * b[w];
      if (kind == Convolution::backward_data) prior[x] += c.options.alpha * a[w] * b[y];
      if (kind == Convolution::backward_filter) prior[w] += c.options.alpha * a[x] * b[y];
    }
  }
  return prior;
}

void check_case(const Case& c, Convolution kind) {
  CAPTURE(c.name);
  CAPTURE(static_cast<int>(kind));
  const Layout l = layout_of(c);
  const auto tensor = [&](int64_t uid, const Sizes& dims) {
    return Tensor(uid, dims, {.strides = c.last ? channels_last(dims) : rows(dims), .dtype = c.dtype});
  };
  const Tensor x = tensor(1, c.x), w = tensor(2, c.w), y = tensor(3, l.y);
  const Tensor& to = kind == Convolution::forward ? y : kind == Convolution::backward_data ? x : w;
  const Tensor& a = kind == Convolution::backward_data ? w : x;
  const Tensor& b = kind == Convolution::forward ? w : y;
  Graph graph;
  graph.convolution(kind, x, w, y, c.options);
  Run run;
  const Numbers prior = random_numbers(to);
  run.input(a, random_numbers(a)).input(b, random_numbers(b));
  c.options.beta == 0 ? run.output(to) : run.input(to, prior);
  run.execute(graph);
  CHECK(difference(run.get(to), reference(c, l, kind, random_numbers(a), random_numbers(b), prior),
                   c.dtype) == "");
}

}  // namespace

TEST_CASE("convolutions of every kind, layout and type are those of the reference") {
  const Case cases[] = {
      {"plain", {2, 3, 5, 6}, {4, 3, 3, 2}, {}},
      {"channels last", {2, 4, 5, 6}, {6, 4, 3, 2}, {}, CUDNN_DATA_FLOAT, true},
      {"padding, stride, dilation",
       {2, 2, 7, 8},
       {3, 2, 3, 2},
       {.pre = {1, 2}, .post = {2, 0}, .stride = {2, 3}, .dilation = {2, 1}}},
      {"groups", {1, 6, 4, 4}, {4, 3, 2, 2}, {}},
      {"depthwise, channels last",
       {2, 3, 4, 4},
       {3, 1, 3, 3},
       {.pre = {1, 1}, .post = {1, 1}},
       CUDNN_DATA_HALF,
       true},
      {"true convolution", {1, 2, 5, 5}, {2, 2, 3, 3}, {.mode = CUDNN_CONVOLUTION}},
      {"alpha and beta", {1, 2, 5, 5}, {2, 2, 3, 3}, {.alpha = 0.5, .beta = 2}},
      {"1-D", {2, 3, 9}, {2, 3, 4}, {.pre = {2}, .post = {1}, .stride = {2}}, CUDNN_DATA_HALF},
      {"3-D", {1, 2, 4, 3, 5}, {2, 2, 2, 2, 3}, {.stride = {1, 1, 2}}, CUDNN_DATA_BFLOAT16, true},
      {"half", {2, 8, 6, 6}, {8, 8, 3, 3}, {}, CUDNN_DATA_HALF},
      {"bfloat16", {2, 8, 6, 6}, {8, 8, 3, 3}, {}, CUDNN_DATA_BFLOAT16, true},
      {"double", {2, 3, 5, 5}, {4, 3, 3, 3}, {.compute = CUDNN_DATA_DOUBLE}, CUDNN_DATA_DOUBLE}};
  for (const Case& c : cases) {
    for (const Convolution kind :
         {Convolution::forward, Convolution::backward_data, Convolution::backward_filter}) {
      check_case(c, kind);
    }
  }
}

TEST_CASE("a long sum in half is rounded once") {
  const Tensor x(1, {1, 4096, 1, 1}, {.strides = channels_last({1, 4096, 1, 1}), .dtype = CUDNN_DATA_HALF});
  const Tensor w(2, {1, 4096, 1, 1}, {.strides = channels_last({1, 4096, 1, 1}), .dtype = CUDNN_DATA_HALF});
  const Tensor y(3, {1, 1, 1, 1}, {.dtype = CUDNN_DATA_HALF});
  Graph graph;
  graph.convolution(Convolution::forward, x, w, y);
  // 1 + 4095 times 2^-12: half and even float in steps of half would forget the small ones.
  Numbers numbers(4096, 0x1p-12);
  numbers[0] = 1;
  Run run;
  run.input(x, numbers).input(w, Numbers(4096, 1)).output(y).execute(graph);
  CHECK(run.get(y)[0] == doctest::Approx(2).epsilon(0x1p-11));
}

TEST_CASE("int8 is added up in int32, and clamped on its way back") {
  const Tensor x(1, {1, 4, 1, 1}, {.strides = channels_last({1, 4, 1, 1}), .dtype = CUDNN_DATA_INT8});
  const Tensor w(2, {2, 4, 1, 1}, {.strides = channels_last({2, 4, 1, 1}), .dtype = CUDNN_DATA_INT8});
  for (const cudnnDataType_t type : {CUDNN_DATA_INT32, CUDNN_DATA_INT8}) {
    const Tensor y(3, {1, 2, 1, 1}, {.strides = channels_last({1, 2, 1, 1}), .dtype = type});
    Graph graph;
    graph.convolution(Convolution::forward, x, w, y, {.compute = CUDNN_DATA_INT32});
    Run run;
    run.input(x, {100, 100, 100, 3}).input(w, {100, 1, 0, 0, 0, 0, 0, 1}).output(y).execute(graph);
    CHECK(run.get(y) == Numbers{type == CUDNN_DATA_INT32 ? 10100.0 : 127.0, 3});
  }
}

TEST_CASE("a convolution, its bias and relu are one plan; what lies between is float") {
  const Sizes dims = {2, 16, 4, 4}, out = {2, 16, 2, 2}, channel = {1, 16, 1, 1};
  const auto options = [](const Sizes& d, bool hidden = false) {
    return TensorOptions{.strides = channels_last(d),
                         .dtype = hidden ? CUDNN_DATA_FLOAT : CUDNN_DATA_HALF,
                         .is_virtual = hidden};
  };
  const Tensor x(1, dims, options(dims)), w(2, {16, 16, 3, 3}, options({16, 16, 3, 3})),
      y(3, out, options(out));
  const Tensor bias(4, channel, options(channel)), raw(5, out, options(out, true)),
      sum(6, out, options(out, true));
  Graph graph;
  graph.convolution(Convolution::forward, x, w, raw);
  graph.pointwise(CUDNN_POINTWISE_ADD, {.x = &raw, .b = &bias, .y = &sum});
  graph.pointwise(CUDNN_POINTWISE_RELU_FWD, {.x = &sum, .y = &y});
  Run run;
  run.input(x, random_numbers(x))
      .input(w, random_numbers(w))
      .input(bias, random_numbers(bias))
      .output(y)
      .execute(graph);
  const Case c = {"", dims, {16, 16, 3, 3}, {}};
  Numbers expected =
      reference(c, layout_of(c), Convolution::forward, random_numbers(x), random_numbers(w), Numbers(128, 0));
  for (size_t i = 0; i < expected.size(); i++) {
    expected[i] = std::max(0.0, static_cast<float>(expected[i]) + random_numbers(bias)[i / 4 % 16]);
  }
  CHECK(difference(run.get(y), expected, CUDNN_DATA_HALF) == "");
}

TEST_CASE("some plans need a workspace, some none") {
  const auto bytes = [](bool last) {
    const Sizes x = {1, 8, 4, 4}, w = {8, 8, 3, 3}, y = {1, 8, 2, 2};
    const auto strides = [last](const Sizes& d) { return last ? channels_last(d) : rows(d); };
    const Tensor tx(1, x, {.strides = strides(x)}), tw(2, w, {.strides = strides(w)}),
        ty(3, y, {.strides = strides(y)});
    Graph graph;
    graph.convolution(Convolution::forward, tx, tw, ty);
    Run run;
    run.input(tx, random_numbers(tx)).input(tw, random_numbers(tw)).output(ty).execute(graph);
    return run.workspace_bytes();
  };
  CHECK(bytes(true) == 0);
  CHECK(bytes(false) > 0);
}
