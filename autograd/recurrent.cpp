#include <tern/autograd/recurrent.h>

#include <tern/autograd/convert.h>
#include <tern/autograd/functional.h>
#include <tern/autograd/record.h>
#include <tern/autograd/views.h>
#include <tern/kernels/recurrent.h>

namespace tern {
namespace {

using kernels::RecurrentGradients;

// Half types are computed in float32, and their results rounded at the end.
DType computed_in(const char* operation, const Tensor& x) {
  check(x.dim() == 3, operation, ": needs a sequence [T, N, F], got ", x.shape());
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
  return computing_dtype(x.dtype());
}

Tensor to_if_defined(const Tensor& x, DType dtype) { return x.defined() ? to(x, dtype) : x; }

Gradients as_list(const RecurrentGradients& g, const Tensor& bias) {
  Gradients list{g.projected, g.weight_hh, bias.defined() ? g.bias_hh : Tensor()};
  list.push_back(g.h0);
  if (g.c0.defined()) list.push_back(g.c0);
  return list;
}

// The states after all steps: h [T, N, H], and for LSTM c after the last as one more.
Tensor lstm_states(const Tensor& projected, const Tensor& weight, const Tensor& bias, const Tensor& h0,
                   const Tensor& c0, bool reverse) {
  const kernels::LstmPass pass = kernels::lstm(projected, weight, bias, h0, c0, reverse);
  const std::initializer_list<Tensor> inputs{projected, weight, bias, h0, c0};
  return record("lstm", pass.states, inputs,
                [reverse, states = SavedTensor(pass.states), c = SavedTensor(pass.c),
                 gates = SavedTensor(pass.gates), weight = SavedTensor(weight), bias = SavedTensor(bias),
                 h0 = SavedTensor(h0), c0 = SavedTensor(c0)](const Tensor& dy) -> Gradients {
                  const kernels::LstmPass pass{states.get(), c.get(), gates.get()};
                  return as_list(kernels::lstm_backward(pass, weight.get(), h0.get(), c0.get(), dy, reverse),
                                 bias.get());
                });
}

Tensor gru_states(const Tensor& projected, const Tensor& weight, const Tensor& bias, const Tensor& h0,
                  bool reverse) {
  const kernels::GruPass pass = kernels::gru(projected, weight, bias, h0, reverse);
  const std::initializer_list<Tensor> inputs{projected, weight, bias, h0};
  return record("gru", pass.states, inputs,
                [reverse, states = SavedTensor(pass.states), gates = SavedTensor(pass.gates),
                 hidden = SavedTensor(pass.hidden), weight = SavedTensor(weight), bias = SavedTensor(bias),
                 h0 = SavedTensor(h0)](const Tensor& dy) -> Gradients {
                  const kernels::GruPass pass{states.get(), gates.get(), hidden.get()};
                  return as_list(kernels::gru_backward(pass, weight.get(), h0.get(), dy, reverse),
                                 bias.get());
                });
}

// The state after the last step on the way: h0 when there is none.
Tensor last_of(const Tensor& output, const Tensor& start, bool reverse) {
  return output.size(0) == 0 ? start : select(output, 0, reverse ? 0 : -1);
}

}  // namespace

RecurrentOutput lstm(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& weight_ih,
                     const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
  const OperationScope scope("lstm");
  const DType own = x.dtype(), wide = computed_in("lstm", x);
  const Tensor projected = linear(to(x, wide), to(weight_ih, wide), to_if_defined(bias_ih, wide));
  const Tensor h = to(h0, wide);
  const Tensor states =
      lstm_states(projected, to(weight_hh, wide), to_if_defined(bias_hh, wide), h, to(c0, wide), reverse);
  const int64_t steps = x.size(0);
  const Tensor output = narrow(states, 0, 0, steps);
  return {to(output, own), to(last_of(output, h, reverse), own), to(select(states, 0, steps), own)};
}

RecurrentOutput gru(const Tensor& x, const Tensor& h0, const Tensor& weight_ih, const Tensor& weight_hh,
                    const Tensor& bias_ih, const Tensor& bias_hh, bool reverse) {
  const OperationScope scope("gru");
  const DType own = x.dtype(), wide = computed_in("gru", x);
  const Tensor projected = linear(to(x, wide), to(weight_ih, wide), to_if_defined(bias_ih, wide));
  const Tensor h = to(h0, wide);
  const Tensor states = gru_states(projected, to(weight_hh, wide), to_if_defined(bias_hh, wide), h, reverse);
  return {to(states, own), to(last_of(states, h, reverse), own), Tensor()};
}

}  // namespace tern
