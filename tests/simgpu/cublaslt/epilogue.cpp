#include <tern/tests/simgpu/cublaslt/epilogue.h>

#include <cmath>
#include <numbers>

namespace simgpu::cublaslt {
namespace {

/// The approximation by tanh: 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class Sum>
Sum gelu(Sum x) {
  const Sum u = std::sqrt(2 / std::numbers::pi_v<Sum>) * (x + Sum(0.044715L) * x * x * x);
  return x / 2 * (1 + std::tanh(u));
}

template <class Sum>
Sum gelu_slope(Sum x) {
  const Sum c = std::sqrt(2 / std::numbers::pi_v<Sum>);
  const Sum t = std::tanh(c * (x + Sum(0.044715L) * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + 3 * Sum(0.044715L) * x * x);
}

}  // namespace

template <class Sum>
Epilogue<Sum>::Epilogue(const Problem& problem, int64_t which)
    : problem_(problem),
      bias_(host(problem.operation.bias)),
      aux_(host(problem.operation.aux)),
      bias_start_(which * problem.operation.bias_stride),
      aux_start_(which * problem.operation.aux_stride) {
  if (problem.has(epilogue_bias_gradient)) gradient_.resize(problem.d.rows);
}

template <class Sum>
bool Epilogue<Sum>::bit(int64_t row, int64_t column) const {
  const int64_t at = aux_start_ + column * problem_.operation.aux_leading + row;
  return static_cast<const uint8_t*>(aux_)[at / 8] >> (at % 8) & 1;
}

template <class Sum>
void Epilogue<Sum>::set_bit(int64_t row, int64_t column, bool on) {
  const int64_t at = aux_start_ + column * problem_.operation.aux_leading + row;
  auto& byte = static_cast<uint8_t*>(aux_)[at / 8];
  byte = static_cast<uint8_t>(on ? byte | 1 << (at % 8) : byte & ~(1 << (at % 8)));
}

/// NaN passes through ReLU: the documentation leaves it open.
template <class Sum>
Sum Epilogue<Sum>::apply(Sum value, int64_t row, int64_t column) {
  const Operation& op = problem_.operation;
  const int64_t at = aux_start_ + column * op.aux_leading + row;
  if (problem_.has(epilogue_bias))
    value += static_cast<Sum>(load(bias_, problem_.bias_type(), bias_start_ + row));
  if (problem_.has(epilogue_relu)) {
    if (problem_.has(epilogue_aux)) set_bit(row, column, value > 0);
    if (value < 0) value = 0;
  } else if (problem_.has(epilogue_gelu)) {
    if (problem_.has(epilogue_aux)) store(aux_, problem_.aux_type(), at, value);
    value = gelu(value);
  } else if (problem_.has(epilogue_drelu)) {
    if (!bit(row, column)) value = 0;
  } else if (problem_.has(epilogue_dgelu)) {
    value *= gelu_slope(static_cast<Sum>(load(aux_, problem_.aux_type(), at)));
  }
  if (!gradient_.empty()) gradient_[static_cast<size_t>(row)] += value;
  return value;
}

template <class Sum>
void Epilogue<Sum>::finish() {
  for (size_t i = 0; i < gradient_.size(); ++i) {
    store(bias_, problem_.bias_type(), static_cast<int64_t>(i), gradient_[i]);
  }
}

template class Epilogue<double>;
template class Epilogue<long double>;

void sum_over_inner(const Problem& problem, const Matrix& a, const Matrix& b) {
  const bool of_a = problem.has(CUBLASLT_EPILOGUE_BGRADA);
  const Matrix factor = of_a ? a : b.transposed();
  for (int64_t i = 0; i < factor.rows; ++i) {
    long double sum = 0;
    for (int64_t l = 0; l < factor.columns; ++l) {
      sum += load(factor.data, factor.type, i * factor.row_step + l * factor.column_step);
    }
    store(host(problem.operation.bias), problem.bias_type(), i, sum);
  }
}

void add_accesses(std::vector<Access>& accesses, const Problem& problem) {
  const Operation& op = problem.operation;
  const auto batches = static_cast<size_t>(problem.d.batch_count);
  const bool of_columns = problem.has(CUBLASLT_EPILOGUE_BGRADB);
  const bool writes_bias = of_columns || problem.has(epilogue_bias_gradient | CUBLASLT_EPILOGUE_BGRADA);
  if (writes_bias || problem.has(epilogue_bias)) {
    const size_t size = size_of(problem.bias_type());
    accesses.push_back({op.bias, (of_columns ? problem.d.columns : problem.d.rows) * size, writes_bias,
                        batches, static_cast<size_t>(op.bias_stride) * size});
  }
  if (!problem.has(epilogue_aux)) return;
  const bool bits = problem.has(epilogue_relu | epilogue_drelu);
  const size_t size = size_of(problem.aux_type());
  const auto bytes = [&](size_t elements) { return bits ? (elements + 7) / 8 : elements * size; };
  for (size_t i = 0; i < batches; ++i) {
    const auto* begin = static_cast<const char*>(op.aux) + bytes(i * static_cast<size_t>(op.aux_stride));
    accesses.push_back({begin, bytes(problem.d.rows), problem.has(epilogue_relu | epilogue_gelu),
                        problem.d.columns, bytes(static_cast<size_t>(op.aux_leading))});
  }
}

}  // namespace simgpu::cublaslt
