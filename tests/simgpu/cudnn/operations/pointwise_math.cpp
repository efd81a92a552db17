#include <tern/tests/simgpu/cudnn/operations/pointwise_math.h>

#include <cmath>
#include <numbers>

namespace simdnn {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double greater(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }

double gelu_tanh_inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }

double binary(cudnnPointwiseMode_t mode, double x, double b) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_ADD_SQUARE:
      return x + b * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_MAX:
      return greater(x, b);
    case CUDNN_POINTWISE_MIN:
      return lesser(x, b);
    case CUDNN_POINTWISE_MOD:
      return std::fmod(x, b);
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_POW:
      return std::pow(x, b);
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_ATAN2:
      return std::atan2(x, b);
    case CUDNN_POINTWISE_CMP_EQ:
      return x == b;
    case CUDNN_POINTWISE_CMP_NEQ:
      return x != b;
    case CUDNN_POINTWISE_CMP_GT:
      return x > b;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b;
    case CUDNN_POINTWISE_CMP_LT:
      return x < b;
    case CUDNN_POINTWISE_CMP_LE:
      return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0;
    default:
      return x != 0 || b != 0;  // CUDNN_POINTWISE_LOGICAL_OR
  }
}

double unary(cudnnPointwiseMode_t mode, double x) {
  switch (mode) {
    case CUDNN_POINTWISE_ABS:
      return std::abs(x);
    case CUDNN_POINTWISE_CEIL:
      return std::ceil(x);
    case CUDNN_POINTWISE_COS:
      return std::cos(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_FLOOR:
      return std::floor(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_NEG:
      return -x;
    case CUDNN_POINTWISE_RSQRT:
      return 1 / std::sqrt(x);
    case CUDNN_POINTWISE_SIN:
      return std::sin(x);
    case CUDNN_POINTWISE_SQRT:
      return std::sqrt(x);
    case CUDNN_POINTWISE_TAN:
      return std::tan(x);
    case CUDNN_POINTWISE_ERF:
      return std::erf(x);
    case CUDNN_POINTWISE_RECIPROCAL:
      return 1 / x;
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return sigmoid(x);
    case CUDNN_POINTWISE_LOGICAL_NOT:
      return x == 0;
    default:
      return x;  // CUDNN_POINTWISE_IDENTITY
  }
}

double activation(cudnnPointwiseMode_t mode, const PointwiseNumbers& n, double x) {
  switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD:
      return x < n.lower_clip ? n.lower_clip + n.lower_slope * (x - n.lower_clip) : lesser(x, n.upper_clip);
    case CUDNN_POINTWISE_ELU_FWD:
      return x > 0 ? x : n.elu_alpha * std::expm1(x);
    case CUDNN_POINTWISE_GELU_FWD:
      return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    case CUDNN_POINTWISE_SOFTPLUS_FWD: {
      const double scaled = n.softplus_beta * x;
      return (greater(scaled, 0) + std::log1p(std::exp(-std::abs(scaled)))) / n.softplus_beta;
    }
    case CUDNN_POINTWISE_SWISH_FWD:
      return x * sigmoid(n.swish_beta * x);
    default:
      return 0.5 * x * (1 + std::tanh(gelu_tanh_inner(x)));  // CUDNN_POINTWISE_GELU_APPROX_TANH_FWD
  }
}

/// The slope of the activation at x.
double slope(cudnnPointwiseMode_t mode, const PointwiseNumbers& n, double x) {
  switch (mode) {
    case CUDNN_POINTWISE_RELU_BWD:
      return x <= n.lower_clip ? n.lower_slope : x < n.upper_clip ? 1 : 0;
    case CUDNN_POINTWISE_TANH_BWD:
      return 1 - std::tanh(x) * std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_BWD:
      return sigmoid(x) * sigmoid(-x);
    case CUDNN_POINTWISE_ELU_BWD:
      return x > 0 ? 1 : n.elu_alpha * std::exp(x);
    case CUDNN_POINTWISE_GELU_BWD:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
      return sigmoid(n.softplus_beta * x);
    case CUDNN_POINTWISE_SWISH_BWD: {
      const double s = sigmoid(n.swish_beta * x);
      return s + n.swish_beta * x * s * (1 - s);
    }
    default: {  // CUDNN_POINTWISE_GELU_APPROX_TANH_BWD
      const double t = std::tanh(gelu_tanh_inner(x));
      return 0.5 * (1 + t) +
             0.5 * x * (1 - t * t) * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
    }
  }
}

bool is_activation(cudnnPointwiseMode_t mode) {
  return mode == CUDNN_POINTWISE_RELU_FWD ||
         (mode >= CUDNN_POINTWISE_ELU_FWD && mode < CUDNN_POINTWISE_RELU_BWD);
}

}  // namespace

int pointwise_inputs(cudnnPointwiseMode_t mode) {
  const int number = mode;
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) return 3;
  if (mode == CUDNN_POINTWISE_ATAN2 || mode == CUDNN_POINTWISE_LOGICAL_AND ||
      mode == CUDNN_POINTWISE_LOGICAL_OR) {
    return 2;
  }
  if (mode == CUDNN_POINTWISE_SQRT || mode == CUDNN_POINTWISE_LOGICAL_NOT ||
      mode == CUDNN_POINTWISE_GEN_INDEX) {
    return 1;
  }
  if (number >= 0 && number <= CUDNN_POINTWISE_SUB) return 2;
  if (number >= CUDNN_POINTWISE_ABS && number <= CUDNN_POINTWISE_RECIPROCAL) return 1;
  if (number >= CUDNN_POINTWISE_RELU_FWD && number <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD) return 1;
  if (is_backward(mode)) return 2;
  return number >= CUDNN_POINTWISE_CMP_EQ && number <= CUDNN_POINTWISE_CMP_LE ? 2 : 0;
}

bool is_backward(cudnnPointwiseMode_t mode) {
  return mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
}

double pointwise_value(cudnnPointwiseMode_t mode, const PointwiseNumbers& numbers, double x, double b,
                       double t) {
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) return t != 0 ? x : b;
  if (is_backward(mode)) return b * slope(mode, numbers, x);
  if (is_activation(mode)) return activation(mode, numbers, x);
  return pointwise_inputs(mode) == 2 ? binary(mode, x, b) : unary(mode, x);
}

}  // namespace simdnn
