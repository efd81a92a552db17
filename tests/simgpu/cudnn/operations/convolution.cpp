#include <tern/tests/simgpu/cudnn/operation.h>

namespace simdnn {
namespace {

struct Window {
  Sizes pre, post, stride, dilation;
  bool flipped = false;  // a true convolution turns the filter around
};

struct Roles {
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

Roles roles_of(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    return {
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    return {
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  }
  return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

Sizes spatial(const Sizes& dims) { return {dims.begin() + 2, dims.end()}; }

int64_t product(const Sizes& sizes) {
  int64_t result = 1;
  for (const int64_t size : sizes) result *= size;
  return result;
}

/// Places of an image, of the filter and of the result that belong together, in the order of the result.
struct Triple {
  int64_t x, w, y;
};

std::vector<Triple> triples(const Sizes& x, const Sizes& w, const Sizes& y, const Window& window) {
  std::vector<Triple> result;
  int64_t y_place = 0;
  for_each_index(y, [&](const Sizes& out) {
    int64_t w_place = 0;
    for_each_index(w, [&](const Sizes& tap) {
      int64_t x_place = 0;
      bool inside = true;
      for (size_t d = 0; d < x.size(); d++) {
        const int64_t at = out[d] * window.stride[d] - window.pre[d] + tap[d] * window.dilation[d];
        inside = inside && at >= 0 && at < x[d];
        x_place = x_place * x[d] + at;
      }
      const int64_t turned = window.flipped ? product(w) - 1 - w_place : w_place;
      if (inside) result.push_back({x_place, turned, y_place});
      w_place++;
    });
    y_place++;
  });
  return result;
}

/// Calls body(place in x, place in w, place in y) for each product that the convolution adds up.
template <class Body>
void for_each_product(const Sizes& x, const Sizes& w, const Sizes& y, const Window& window,
                      const Body& body) {
  const std::vector<Triple> places = triples(spatial(x), spatial(w), spatial(y), window);
  const int64_t xs = product(spatial(x)), ws = product(spatial(w)), ys = product(spatial(y));
  const int64_t per_group = y[1] / (x[1] / w[1]);
  for (int64_t n = 0; n < y[0]; n++) {
    for (int64_t k = 0; k < y[1]; k++) {
      for (int64_t c = 0; c < w[1]; c++) {
        const int64_t xc = ((n * x[1]) + k / per_group * w[1] + c) * xs, wc = (k * w[1] + c) * ws;
        const int64_t yc = (n * y[1] + k) * ys;
        for (const Triple& at : places) {
          body(static_cast<size_t>(xc + at.x), static_cast<size_t>(wc + at.w),
               static_cast<size_t>(yc + at.y));
        }
      }
    }
  }
}

Window window_of(const Descriptor& convolution, size_t rank) {
  Window window = {
      convolution.get_all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
      convolution.get_all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
      convolution.get_all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
      convolution.get_all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
      convolution.get<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION};
  demand(window.pre.size() + 2 == rank, "the convolution has " + std::to_string(window.pre.size()) +
                                            " spatial dimensions, its tensors have " + std::to_string(rank) +
                                            " dimensions");
  return window;
}

void check_shapes(const Tensor& x, const Tensor& w, const Tensor& y, const Window& window) {
  const std::string all = describe(x) + "; " + describe(w) + "; " + describe(y);
  demand(x.rank() == w.rank() && x.rank() == y.rank(), "the ranks of a convolution's tensors differ: " + all);
  demand(w.dims[1] > 0 && x.dims[1] % w.dims[1] == 0 && x.dims[1] > 0,
         "the channels of x are no multiple of those of the filter: " + all);
  demand(w.dims[0] % (x.dims[1] / w.dims[1]) == 0, "the filters are no multiple of the groups: " + all);
  demand(y.dims[0] == x.dims[0] && y.dims[1] == w.dims[0], "batch or channels of y are wrong: " + all);
  for (size_t d = 0; d < window.pre.size(); d++) {
    const int64_t room =
        x.dims[d + 2] + window.pre[d] + window.post[d] - (w.dims[d + 2] - 1) * window.dilation[d] - 1;
    demand(room >= 0 && y.dims[d + 2] == room / window.stride[d] + 1,
           "dimension " + std::to_string(d + 2) + " of y should be " +
               std::to_string(room / window.stride[d] + 1) + ": " + all);
  }
}

}  // namespace

void make_convolution(const Descriptor& descriptor, Operation& operation) {
  const Roles roles = roles_of(descriptor.type);
  const Descriptor& convolution = *descriptor.descriptor(roles.convolution);
  const auto x = operation.at(roles.x), w = operation.at(roles.w), y = operation.at(roles.y);
  const Window window = window_of(convolution, x->rank());
  check_shapes(*x, *w, *y, window);
  const auto alpha = descriptor.get<double>(roles.alpha, 1), beta = descriptor.get<double>(roles.beta, 0);
  operation.mode = window.flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
  operation.compute = convolution.get<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  operation.adds_to_output = beta != 0;
  const auto type = descriptor.type;
  operation.run = [=](Values& values) {
    const bool forward = type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    const bool data = type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const Tensor& to = forward ? *y : data ? *x : *w;
    const Array& first = values.at(forward || !data ? *x : *w);
    const Array& second = values.at(forward ? *w : *y);
    Array sum(to.dims);
    for_each_product(x->dims, w->dims, y->dims, window, [&](size_t xi, size_t wi, size_t yi) {
      if (forward) {
        sum.x[yi] += first.x[xi] * second.x[wi];
      } else if (data) {
        sum.x[xi] += first.x[wi] * second.x[yi];
      } else {
        sum.x[wi] += first.x[xi] * second.x[yi];
      }
    });
    for (size_t i = 0; i < sum.x.size(); i++)
      sum.x[i] = alpha * sum.x[i] + (beta == 0 ? 0 : beta * values.at(to).x[i]);
    values.set(to, std::move(sum));
  };
}

}  // namespace simdnn
