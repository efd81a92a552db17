// Whole sequences through LSTM (Hochreiter & Schmidhuber, 1997) and GRU (Cho et al., 2014; the variant of
// cuDNN and PyTorch, with the reset gate behind the product).
//
// T steps, N samples, H units. `projected` is what the input contributes to the gates of all steps, W_ih x +
// b_ih: [T, N, 4 H] in the order i, f, g, o, or [T, N, 3 H] in the order r, z, n. weight_hh is [4 H, H] or
// [3 H, H], bias_hh [4 H] or [3 H] or undefined, states are [N, H]. `reverse` goes from the last step to the
// first. float32 or float64, all of one dtype, on one device; Error naming the operation otherwise, and where
// shapes do not fit.
#pragma once

#include <tern/core/tensor.h>

namespace tern::kernels {

/// What a pass through LSTM leaves for its backward.
struct LstmPass {
  Tensor states;  ///< [T + 1, N, H]: h after each step, then c after the last
  Tensor c;       ///< [T, N, H]: c after each step
  Tensor gates;   ///< [T, N, 4 H]: values of the gates
};
LstmPass lstm(const Tensor& projected, const Tensor& weight_hh, const Tensor& bias_hh, const Tensor& h0,
              const Tensor& c0, bool reverse);

struct GruPass {
  Tensor states;  ///< [T, N, H]: h after each step
  Tensor gates;   ///< [T, N, 3 H]: values of the gates
  Tensor hidden;  ///< [T, N, 3 H]: what the state contributed to them
};
GruPass gru(const Tensor& projected, const Tensor& weight_hh, const Tensor& bias_hh, const Tensor& h0,
            bool reverse);

/// c0's is undefined for GRU.
struct RecurrentGradients {
  Tensor projected, weight_hh, bias_hh, h0, c0;
};
/// From the gradient of pass.states.
RecurrentGradients lstm_backward(const LstmPass& pass, const Tensor& weight_hh, const Tensor& h0,
                                 const Tensor& c0, const Tensor& dstates, bool reverse);
RecurrentGradients gru_backward(const GruPass& pass, const Tensor& weight_hh, const Tensor& h0,
                                const Tensor& dstates, bool reverse);

}  // namespace tern::kernels
