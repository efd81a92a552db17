// LSTM and GRU over sequences, in one or more layers, one or both directions. Names, shapes and state dicts
// are those of torch.nn.LSTM and torch.nn.GRU.
#pragma once

#include <tern/autograd/recurrent.h>
#include <tern/nn/module.h>

namespace tern::nn {

struct RecurrentOptions {
  int64_t num_layers = 1;  ///< each takes the outputs of the one before
  bool bias = true;
  bool batch_first = false;    ///< sequences are [N, T, F] instead of [T, N, F]
  double dropout = 0;          ///< in training, on the outputs of all layers but the last
  bool bidirectional = false;  ///< each layer also runs backward; its outputs are both, side by side
};

/// What LSTM and GRU have in common: their parameters weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_ih_l0_reverse, …, all from U(-1 / sqrt(H), 1 / sqrt(H)).
class RecurrentLayers {
 public:
  /// Throws Error naming `name` for sizes below 1 and dropout outside [0, 1].
  RecurrentLayers(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
                  const RecurrentOptions& options);

 protected:
  struct Weights {
    std::string suffix;
    Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  /// A layer in one direction: from the sequence [T, N, F] and the index of its start state.
  using Step = std::function<RecurrentOutput(const Tensor& x, int64_t index, const Weights&, bool reverse)>;

  RecurrentOutput run(const Tensor& x, bool training, const Step& step) const;
  void show(Visitor& visitor);
  std::string describe_options() const;
  /// The start of layer and direction `index`: row `index` of `states` [L, N, H] (or [L, H]), or zeros.
  Tensor start(const Tensor& states, const Tensor& x, int64_t index) const;

 private:
  void check_input(const Tensor& x) const;

  const char* name_;
  int64_t input_size_, hidden_size_;
  RecurrentOptions options_;
  std::vector<Weights> weights_;  // layer by layer, forward before reverse
};

/// Long short-term memory: x [T, N, input_size] ([N, T, input_size] with batch_first, or [T, input_size]
/// without a batch) gives outputs [T, N, D H] and the last h_n and c_n [layers D, N, H], where D is 2 for
/// both directions and H = hidden_size. Starts h_0 and c_0 [layers D, N, H] are zero unless given.
class LSTM : public Layer<LSTM>, public RecurrentLayers {
 public:
  LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {})
      : RecurrentLayers("LSTM", 4, input_size, hidden_size, options) {}
  RecurrentOutput forward(const Tensor& x, const Tensor& h_0 = {}, const Tensor& c_0 = {});
  void members(Visitor& visitor) override { show(visitor); }
  std::string describe() const override { return "LSTM(" + describe_options() + ")"; }
};

/// Gated recurrent unit; like LSTM, without a cell (c_n is undefined).
class GRU : public Layer<GRU>, public RecurrentLayers {
 public:
  GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions& options = {})
      : RecurrentLayers("GRU", 3, input_size, hidden_size, options) {}
  RecurrentOutput forward(const Tensor& x, const Tensor& h_0 = {});
  void members(Visitor& visitor) override { show(visitor); }
  std::string describe() const override { return "GRU(" + describe_options() + ")"; }
};

}  // namespace tern::nn
