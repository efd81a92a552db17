#include <tern/kernels/loss.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/reduce_loops.h>

#include <numeric>

namespace tern::kernels {
namespace {

constexpr int64_t chunk = 1024;  // elements that pass through the first cache together

template <class T>
using Buffer = T[chunk];

// One operand: where it lies, and how its elements become dense Ts. An absent one is all ones.
struct Source {
  explicit Source(const Tensor& x)
      : data(x.defined() ? static_cast<char*>(x.data()) : nullptr),
        dtype(x.defined() ? x.dtype() : float32),
        bytes(static_cast<int64_t>(size_of(dtype))) {}

  char* at(int64_t offset) const { return data + offset * bytes; }
  template <class T>
  bool is_direct(int64_t stride) const {
    return dtype == dtype_of<T>() && stride == 1;
  }
  template <class T>
  const T* read(int64_t offset, int64_t stride, int64_t count, Buffer<T>& buffer, const T* ones) const {
    if (!data) return ones;
    if (is_direct<T>(stride)) return reinterpret_cast<const T*>(at(offset));
    convert_row(dtype, dtype_of<T>())(at(offset), stride, buffer, 1, count);
    return buffer;
  }

  char* data;
  DType dtype;
  int64_t bytes;
};

// A pass over the elements: the result or (an undefined one) their sum, then x, target, weight, pos_weight.
struct Pass {
  const LossMath& math;
  LossPart part;
  double scale;
  Source y, x, target, weight, positive;
  IteratePlan plan;

  Pass(const LossMath& function, LossPart which, const LossOperands& o, double factor, const Tensor& result)
      : math(function),
        part(which),
        scale(factor),
        y(result),
        x(o.x),
        target(o.target),
        weight(o.weight),
        positive(o.pos_weight) {
    const auto layout = [&](const Tensor& t) { return t.defined() ? &t.layout() : &o.x.layout(); };
    plan = make_plan(o.x.shape(),
                     {layout(result), layout(o.x), layout(o.target), layout(o.weight), layout(o.pos_weight)});
  }

  // Elements [begin, end) of the plan; their sum where there is no result.
  template <class T>
  double run(int64_t begin, int64_t end) const {
    Buffer<T> ones, buffers[4], out;
    std::fill_n(ones, std::min(chunk, end - begin), T(1));
    Accumulator sum{.floating = 0};
    const ReduceLoops adder = reduce_loops(ReduceOp::sum, dtype_of<T>());
    visit_rows(plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; i += chunk) {
        const int64_t n = std::min(chunk, count - i);
        const auto read = [&](const Source& source, int k) {
          return source.read<T>(offsets[k] + i * strides[k], strides[k], n, buffers[k - 1], ones);
        };
        const simd::LossRun<T> run{read(x, 1),        read(target, 2),       read(weight, 3),
                                   read(positive, 4), static_cast<T>(scale), n};
        char* place = y.data ? y.at(offsets[0] + i * strides[0]) : nullptr;
        const bool direct = place && y.is_direct<T>(strides[0]);
        compute(run, direct ? reinterpret_cast<T*>(place) : out);
        if (!place)
          adder.row(out, 1, n, &sum);
        else if (!direct)
          convert_row(dtype_of<T>(), y.dtype)(out, 1, place, strides[0], n);
      }
    });
    return sum.floating;
  }

 private:
  void compute(const simd::LossRun<float>& run, float* out) const {
    simd::loss_kernels().f32(math, part, run, out);
  }
  void compute(const simd::LossRun<double>& run, double* out) const {
    simd::loss_kernels().f64(math, part, run, out);
  }
};

double run_part(const Pass& pass, int64_t begin, int64_t end) {
  return dispatch_computing(pass.x.dtype, [&]<class T>() { return pass.run<T>(begin, end); });
}

}  // namespace

void check_loss_operands(const char* operation, const LossOperands& o) {
  check(is_floating_point(o.x.dtype()), operation, ": needs a floating-point input, got ", o.x.dtype());
  check(o.x.shape() == o.target.shape(), operation, ": input and target must have one shape, got ",
        o.x.shape(), " and ", o.target.shape());
  check_same_device(o.x, o.target, operation);
  for (const Tensor* weight : {&o.weight, &o.pos_weight}) {
    if (!weight->defined()) continue;
    check_same_device(o.x, *weight, operation);
    check(broadcast_shapes(o.x.shape(), weight->shape(), operation) == o.x.shape(), operation,
          ": a weight of shape ", weight->shape(), " does not broadcast to ", o.x.shape());
  }
}

Tensor losses(const LossMath& math, LossPart part, const LossOperands& o, double scale) {
  const Tensor y = empty_like(o.x);
  const Pass pass(math, part, o, scale, y);
  parallel_for(o.x.numel(), iterate_block,
               [&pass](int64_t begin, int64_t end) { run_part(pass, begin, end); });
  return y;
}

double loss_sum(const LossMath& math, const LossOperands& o) {
  const Pass pass(math, LossPart::value, o, 1, {});
  const int64_t blocks = (o.x.numel() + iterate_block - 1) / iterate_block;
  const Tensor sums = empty({blocks}, float64, o.x.device());
  double* const parts = sums.data<double>();
  parallel_for(o.x.numel(), iterate_block, [&pass, parts](int64_t begin, int64_t end) {
    parts[begin / iterate_block] = run_part(pass, begin, end);
  });
  return std::accumulate(parts, parts + blocks, 0.0);
}

}  // namespace tern::kernels
