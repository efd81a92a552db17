// Sequences through recurrent cells, as torch.lstm and torch.gru do layer by layer; nn::LSTM and nn::GRU are
// made of them.
#pragma once

#include <tern/core/tensor.h>

namespace tern {

/// What a layer of LSTM or GRU gives: all outputs [T, N, H] and the last states [N, H]; c_n is undefined for
/// GRU. With `reverse`, steps are taken from the last to the first, and output t belongs to input t.
struct RecurrentOutput {
  Tensor output, h_n, c_n;
};

/// One layer of LSTM (Hochreiter & Schmidhuber, 1997) over x [T, N, F]: weight_ih [4 H, F], weight_hh [4 H,
/// H], biases [4 H] or undefined, h0 and c0 [N, H]; gates in the order input, forget, cell, output.
/// Floating-point of one dtype; the half types compute in float32. Differentiable in all of them.
RecurrentOutput lstm(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& weight_ih,
                     const Tensor& weight_hh, const Tensor& bias_ih = {}, const Tensor& bias_hh = {},
                     bool reverse = false);

/// One layer of GRU (Cho et al., 2014): n = tanh(W_in x + b_in + r (W_hn h + b_hn)). weight_ih [3 H, F],
/// weight_hh [3 H, H], biases [3 H] or undefined, h0 [N, H]; gates in the order reset, update, new.
RecurrentOutput gru(const Tensor& x, const Tensor& h0, const Tensor& weight_ih, const Tensor& weight_hh,
                    const Tensor& bias_ih = {}, const Tensor& bias_hh = {}, bool reverse = false);

}  // namespace tern
