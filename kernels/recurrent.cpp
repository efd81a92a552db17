#include <tern/kernels/recurrent.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/creation.h>
#include <tern/kernels/matmul.h>
#include <tern/kernels/pointwise.h>
#include <tern/kernels/reduce.h>
#include <tern/kernels/simd/recurrent.h>

#include <algorithm>

namespace tern::kernels {
namespace {

// The sizes of a pass and the order of its steps.
struct Way {
  int64_t steps, samples, units, gates;
  bool reverse;

  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  int64_t state_size() const { return samples * units; }
  int64_t gates_size() const { return samples * units * gates; }
  // Samples that one thread takes at a time.
  int64_t block() const { return std::max<int64_t>(1, 4096 / std::max<int64_t>(units, 1)); }
  // Where time `t` of [T, N, H] comes from: the state before it.
  template <class T>
  const T* before(const T* states, const T* start, int64_t t) const {
    const int64_t previous = reverse ? t + 1 : t - 1;
    return previous < 0 || previous >= steps ? start : states + previous * state_size();
  }
};

Way checked(const char* operation, int64_t gates, const Tensor& projected, const Tensor& weight_hh,
            const Tensor& bias_hh, std::initializer_list<const Tensor*> states, bool reverse) {
  check(projected.dim() == 3 && projected.size(2) % gates == 0, operation, ": needs gates [T, N, ", gates,
        " H], got ", projected.shape());
  const int64_t units = projected.size(2) / gates;
  const auto expect = [&](const Tensor& x, const Shape& shape, const char* what) {
    check(x.shape() == shape, operation, ": ", what, " must be ", shape, ", got ", x.shape());
    check_same_device(projected, x, operation);
    check_same_dtype(projected, x, operation);
  };
  check(projected.dtype() == float32 || projected.dtype() == float64, operation,
        ": needs float32 or float64, got ", projected.dtype());
  expect(weight_hh, {gates * units, units}, "weight_hh");
  if (bias_hh.defined()) expect(bias_hh, {gates * units}, "bias_hh");
  for (const Tensor* state : states) expect(*state, {projected.size(1), units}, "a state");
  return {projected.size(0), projected.size(1), units, gates, reverse};
}

// The kernels for T, and the passes over sequences with them.
template <class T>
struct Sequence {
  Way way;
  const simd::RecurrentSteps<T>& steps;
  const T* weight;  // [gates H, H]

  // gates [N, gates H] += state [N, H] W^T
  void add_product(const T* state, T* gates) const {
    gemm({.transpose_b = true,
          .m = way.samples,
          .n = way.gates * way.units,
          .k = way.units,
          .lda = way.units,
          .ldb = way.units,
          .ldc = way.gates * way.units},
         T(1), state, weight, T(1), gates);
  }
  // dstate [N, H] = beta dstate + dgates [N, gates H] W
  void carry_back(const T* dgates, T beta, T* dstate) const {
    gemm({.m = way.samples,
          .n = way.units,
          .k = way.gates * way.units,
          .lda = way.gates * way.units,
          .ldb = way.units,
          .ldc = way.units},
         T(1), dgates, weight, beta, dstate);
  }
  template <class Body>
  void for_each_sample(Body&& body) const {
    parallel_for(way.samples, way.block(), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n * way.units, n * way.units * way.gates);
    });
  }

  void lstm(const T* h0, const T* c0, T* h, T* c, T* gates) const {
    for (int64_t step = 0; step < way.steps; ++step) {
      const int64_t t = way.time(step), at = t * way.state_size();
      T* const own = gates + t * way.gates_size();
      add_product(way.before(h, h0, t), own);
      const T* const c_prev = way.before(c, c0, t);
      for_each_sample([&](int64_t state, int64_t gate) {
        steps.lstm({way.units, own + gate, c_prev + state, c + at + state, h + at + state});
      });
    }
  }

  void lstm_backward(const T* c0, const T* c, const T* gates, const T* dh, T* carried, T* dc,
                     T* dgates) const {
    for (int64_t step = way.steps - 1; step >= 0; --step) {
      const int64_t t = way.time(step), at = t * way.state_size(), own = t * way.gates_size();
      const T* const c_prev = way.before(c, c0, t);
      for_each_sample([&](int64_t state, int64_t gate) {
        for (int64_t k = 0; k < way.units; ++k) carried[state + k] += dh[at + state + k];
        steps.lstm_backward({way.units, gates + own + gate, c_prev + state, c + at + state, carried + state,
                             dc + state, dgates + own + gate});
      });
      carry_back(dgates + own, T(0), carried);
    }
  }

  void gru(const T* h0, T* h, T* gates, T* hidden) const {
    for (int64_t step = 0; step < way.steps; ++step) {
      const int64_t t = way.time(step), at = t * way.state_size(), own = t * way.gates_size();
      const T* const h_prev = way.before(h, h0, t);
      add_product(h_prev, hidden + own);
      for_each_sample([&](int64_t state, int64_t gate) {
        steps.gru({way.units, gates + own + gate, hidden + own + gate, h_prev + state, h + at + state});
      });
    }
  }

  void gru_backward(const T* h0, const T* h, const T* gates, const T* hidden, const T* dh, T* carried,
                    T* dgates, T* dhidden) const {
    for (int64_t step = way.steps - 1; step >= 0; --step) {
      const int64_t t = way.time(step), at = t * way.state_size(), own = t * way.gates_size();
      const T* const h_prev = way.before(h, h0, t);
      for_each_sample([&](int64_t state, int64_t gate) {
        for (int64_t k = 0; k < way.units; ++k) carried[state + k] += dh[at + state + k];
        steps.gru_backward({way.units, gates + own + gate, hidden + own + gate, h_prev + state,
                            carried + state, dgates + own + gate, dhidden + own + gate, carried + state});
      });
      carry_back(dhidden + own, T(1), carried);
    }
  }

  // The sum over steps of dgates^T times the state before: all steps but the first have theirs in h.
  void weight_gradient(const T* h0, const T* h, const T* dgates, T* dweight) const {
    const int64_t first = way.time(0), rest = (way.steps - 1) * way.samples;
    const auto add = [&](int64_t rows, const T* gates, const T* states, T beta) {
      const int64_t width = way.gates * way.units;
      gemm({.transpose_a = true,
            .m = width,
            .n = way.units,
            .k = rows,
            .lda = width,
            .ldb = way.units,
            .ldc = way.units},
           T(1), gates, states, beta, dweight);
    };
    add(way.steps ? way.samples : 0, dgates + (way.steps ? first : 0) * way.gates_size(), h0, T(0));
    if (way.steps > 1)
      add(rest, dgates + (way.reverse ? 0 : way.gates_size()), h + (way.reverse ? way.state_size() : 0),
          T(1));
  }
};

template <class Body>
void dispatch_sequence(const Way& way, const Tensor& weight_hh, Body&& body) {
  const simd::RecurrentKernels& kernels = simd::recurrent_kernels();
  if (weight_hh.dtype() == float32)
    body(Sequence<float>{way, kernels.float32, weight_hh.data<float>()});
  else
    body(Sequence<double>{way, kernels.float64, weight_hh.data<double>()});
}

// [T, N, width] filled with `bias` in every row, or 0.
Tensor repeated(const Tensor& bias, const Tensor& like) {
  if (!bias.defined()) return zeros(like.shape(), like.dtype(), like.device());
  Tensor x = empty(like.shape(), like.dtype(), like.device());
  copy(bias, x);
  return x;
}

Tensor part(const Tensor& x, int64_t start, int64_t stop) {
  return x.with_layout(x.layout().slice(0, start, stop, 1));
}

}  // namespace

LstmPass lstm(const Tensor& projected, const Tensor& weight_hh, const Tensor& bias_hh, const Tensor& h0,
              const Tensor& c0, bool reverse) {
  const Way way = checked("lstm", 4, projected, weight_hh, bias_hh, {&h0, &c0}, reverse);
  const Shape state{way.steps, way.samples, way.units};
  LstmPass pass{empty({way.steps + 1, way.samples, way.units}, h0.dtype(), h0.device()),
                empty(state, h0.dtype(), h0.device()), repeated(bias_hh, projected)};
  add_(pass.gates, projected);
  const Tensor weight = contiguous(weight_hh), h = contiguous(h0), c = contiguous(c0);
  dispatch_sequence(way, weight, [&]<class T>(const Sequence<T>& sequence) {
    sequence.lstm(h.data<T>(), c.data<T>(), pass.states.data<T>(), pass.c.data<T>(), pass.gates.data<T>());
  });
  const int64_t last = way.time(way.steps - 1);
  copy(way.steps ? part(pass.c, last, last + 1) : c, part(pass.states, way.steps, way.steps + 1));
  return pass;
}

GruPass gru(const Tensor& projected, const Tensor& weight_hh, const Tensor& bias_hh, const Tensor& h0,
            bool reverse) {
  const Way way = checked("gru", 3, projected, weight_hh, bias_hh, {&h0}, reverse);
  GruPass pass{empty({way.steps, way.samples, way.units}, h0.dtype(), h0.device()),
               clone(contiguous(projected)), repeated(bias_hh, projected)};
  const Tensor weight = contiguous(weight_hh), h = contiguous(h0);
  dispatch_sequence(way, weight, [&]<class T>(const Sequence<T>& sequence) {
    sequence.gru(h.data<T>(), pass.states.data<T>(), pass.gates.data<T>(), pass.hidden.data<T>());
  });
  return pass;
}

RecurrentGradients lstm_backward(const LstmPass& pass, const Tensor& weight_hh, const Tensor& h0,
                                 const Tensor& c0, const Tensor& dstates, bool reverse) {
  const Way way{pass.gates.size(0), h0.size(0), h0.size(1), 4, reverse};
  const Tensor weight = contiguous(weight_hh), h = contiguous(h0), c = contiguous(c0),
               dh = contiguous(dstates);
  const Tensor carried = zeros(h0.shape(), h0.dtype(), h0.device()),
               dc = clone(contiguous(part(dh, way.steps, way.steps + 1)));
  const Tensor dgates = empty(pass.gates.shape(), h0.dtype(), h0.device());
  const Tensor dweight = empty(weight.shape(), h0.dtype(), h0.device());
  dispatch_sequence(way, weight, [&]<class T>(const Sequence<T>& sequence) {
    sequence.lstm_backward(c.data<T>(), pass.c.data<T>(), pass.gates.data<T>(), dh.data<T>(),
                           carried.data<T>(), dc.data<T>(), dgates.data<T>());
    sequence.weight_gradient(h.data<T>(), pass.states.data<T>(), dgates.data<T>(), dweight.data<T>());
  });
  return {dgates, dweight, sum(dgates, {0, 1}), carried, dc.with_layout(Layout(c0.shape()))};
}

RecurrentGradients gru_backward(const GruPass& pass, const Tensor& weight_hh, const Tensor& h0,
                                const Tensor& dstates, bool reverse) {
  const Way way{pass.gates.size(0), h0.size(0), h0.size(1), 3, reverse};
  const Tensor weight = contiguous(weight_hh), h = contiguous(h0), dh = contiguous(dstates);
  const Tensor carried = zeros(h0.shape(), h0.dtype(), h0.device()),
               dgates = empty(pass.gates.shape(), h0.dtype(), h0.device());
  const Tensor dhidden = empty_like(dgates), dweight = empty(weight.shape(), h0.dtype(), h0.device());
  dispatch_sequence(way, weight, [&]<class T>(const Sequence<T>& sequence) {
    sequence.gru_backward(h.data<T>(), pass.states.data<T>(), pass.gates.data<T>(), pass.hidden.data<T>(),
                          dh.data<T>(), carried.data<T>(), dgates.data<T>(), dhidden.data<T>());
    sequence.weight_gradient(h.data<T>(), pass.states.data<T>(), dhidden.data<T>(), dweight.data<T>());
  });
  return {dgates, dweight, sum(dhidden, {0, 1}), carried, Tensor()};
}

}  // namespace tern::kernels
