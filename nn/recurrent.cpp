#include <tern/nn/recurrent.h>

#include <tern/autograd/functional.h>
#include <tern/autograd/views.h>
#include <tern/kernels/creation.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {
namespace {

// States of all layers and directions, one after the other: [L, N, H].
Tensor stacked(const std::vector<Tensor>& states) {
  std::vector<Tensor> rows;
  rows.reserve(states.size());
  for (const Tensor& state : states) rows.push_back(unsqueeze(state, 0));
  return cat(rows, 0);
}

}  // namespace

RecurrentLayers::RecurrentLayers(const char* name, int64_t gates, int64_t input_size, int64_t hidden_size,
                                 const RecurrentOptions& options)
    : name_(name), input_size_(input_size), hidden_size_(hidden_size), options_(options) {
  check(input_size > 0 && hidden_size > 0 && options.num_layers > 0, name,
        ": input_size, hidden_size and num_layers must be at least 1, got ", input_size, ", ", hidden_size,
        " and ", options.num_layers);
  check(options.dropout >= 0 && options.dropout <= 1, name, ": dropout must be from 0 to 1, got ",
        options.dropout);
  const auto parameter = [&](const Shape& shape) { return init::default_parameter(shape, hidden_size); };
  const int directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.num_layers; ++layer) {
    const int64_t features = layer == 0 ? input_size : directions * hidden_size;
    for (int direction = 0; direction < directions; ++direction) {
      const Shape bias{gates * hidden_size};
      Weights weights{fmt::format("_l{}{}", layer, direction ? "_reverse" : ""),
                      parameter({gates * hidden_size, features}),
                      parameter({gates * hidden_size, hidden_size}),
                      {},
                      {}};
      if (options.bias) weights.bias_ih = parameter(bias), weights.bias_hh = parameter(bias);
      weights_.push_back(std::move(weights));
    }
  }
}

void RecurrentLayers::show(Visitor& visitor) {
  for (Weights& weights : weights_) {
    visitor.parameter("weight_ih" + weights.suffix, weights.weight_ih);
    visitor.parameter("weight_hh" + weights.suffix, weights.weight_hh);
    visitor.parameter("bias_ih" + weights.suffix, weights.bias_ih);
    visitor.parameter("bias_hh" + weights.suffix, weights.bias_hh);
  }
}

std::string RecurrentLayers::describe_options() const {
  std::string text = fmt::format("{}, {}", input_size_, hidden_size_);
  if (options_.num_layers != 1) text += fmt::format(", num_layers={}", options_.num_layers);
  if (!options_.bias) text += ", bias=false";
  if (options_.batch_first) text += ", batch_first=true";
  if (options_.dropout != 0) text += fmt::format(", dropout={}", options_.dropout);
  if (options_.bidirectional) text += ", bidirectional=true";
  return text;
}

void RecurrentLayers::check_input(const Tensor& x) const {
  check((x.dim() == 2 || x.dim() == 3) && x.size(-1) == input_size_, name_, ": needs ",
        options_.batch_first ? "[N, T, " : "[T, N, ", input_size_, "] or [T, ", input_size_, "], got ",
        x.shape());
}

Tensor RecurrentLayers::start(const Tensor& states, const Tensor& x, int64_t index) const {
  const int64_t samples = x.size(1), count = static_cast<int64_t>(weights_.size());
  if (!states.defined()) return zeros({samples, hidden_size_}, x.dtype(), x.device());
  const Tensor batched = states.dim() == 2 ? unsqueeze(states, 1) : states;
  const Shape expected{count, samples, hidden_size_};
  check(batched.shape() == expected, name_, ": a start state must be ", expected, ", got ", states.shape());
  return select(batched, 0, index);
}

RecurrentOutput RecurrentLayers::run(const Tensor& x, bool training, const Step& step) const {
  check_input(x);
  const bool batched = x.dim() == 3, transposed = batched && options_.batch_first;
  Tensor sequence = !batched ? unsqueeze(x, 1) : transposed ? transpose(x, 0, 1) : x;
  const size_t directions = options_.bidirectional ? 2 : 1;
  std::vector<Tensor> h, c;
  for (size_t first = 0; first < weights_.size(); first += directions) {
    std::vector<Tensor> outputs;
    for (size_t i = first; i < first + directions; ++i) {
      const RecurrentOutput one = step(sequence, static_cast<int64_t>(i), weights_[i], i > first);
      outputs.push_back(one.output);
      h.push_back(one.h_n);
      if (one.c_n.defined()) c.push_back(one.c_n);
    }
    sequence = directions == 1 ? outputs[0] : cat(outputs, -1);
    if (first + directions < weights_.size()) sequence = dropout(sequence, options_.dropout, training);
  }
  RecurrentOutput result{transposed ? transpose(sequence, 0, 1) : sequence, stacked(h),
                         c.empty() ? Tensor() : stacked(c)};
  if (batched) return result;
  const auto single = [](const Tensor& t) { return t.defined() ? squeeze(t, 1) : t; };
  return {single(result.output), single(result.h_n), single(result.c_n)};
}

RecurrentOutput LSTM::forward(const Tensor& x, const Tensor& h_0, const Tensor& c_0) {
  return run(x, is_training(), [&](const Tensor& sequence, int64_t i, const Weights& w, bool reverse) {
    return lstm(sequence, start(h_0, sequence, i), start(c_0, sequence, i), w.weight_ih, w.weight_hh,
                w.bias_ih, w.bias_hh, reverse);
  });
}

RecurrentOutput GRU::forward(const Tensor& x, const Tensor& h_0) {
  return run(x, is_training(), [&](const Tensor& sequence, int64_t i, const Weights& w, bool reverse) {
    return gru(sequence, start(h_0, sequence, i), w.weight_ih, w.weight_hh, w.bias_ih, w.bias_hh, reverse);
  });
}

}  // namespace tern::nn
