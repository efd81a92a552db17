#include <tern/kernels/scalar_math.h>
#include <tern/kernels/simd/recurrent.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {
namespace {

template <class T>
[[gnu::always_inline]] inline T sigmoid(T x) {
  return T(1) / (T(1) + math::exp(-x));
}

// The gates of a sample lie in one array, a distance apart that the compiler does not know: loops over
// several of them must say that they are independent, else they stay scalar.

// c = f c_prev + i g, h = o tanh(c).
template <class T>
void lstm(const LstmStep<T>& s) {
  const int64_t n = s.units;
  T* __restrict i = s.gates;
  T* __restrict f = i + n;
  T* __restrict g = f + n;
  T* __restrict o = g + n;
  const T* __restrict before = s.c_prev;
  T* __restrict c = s.c;
  T* __restrict h = s.h;
  for (int64_t k = 0; k < n; ++k) i[k] = sigmoid(i[k]);
  for (int64_t k = 0; k < n; ++k) f[k] = sigmoid(f[k]);
  for (int64_t k = 0; k < n; ++k) g[k] = math::tanh(g[k]);
  for (int64_t k = 0; k < n; ++k) o[k] = sigmoid(o[k]);
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) {
    c[k] = f[k] * before[k] + i[k] * g[k];
    h[k] = o[k] * math::tanh(c[k]);
  }
}

// With t = tanh(c): dc += dh o (1 - t^2); di = dc g, df = dc c_prev, dg = dc i, do = dh t, each times its
// slope.
template <class T>
void lstm_backward(const LstmStepBackward<T>& s) {
  const int64_t n = s.units;
  const T* __restrict i = s.gates;
  const T* __restrict f = i + n;
  const T* __restrict g = f + n;
  const T* __restrict o = g + n;
  const T* __restrict before = s.c_prev;
  const T* __restrict after = s.c;
  const T* __restrict dh = s.dh;
  T* __restrict dc = s.dc;
  T* __restrict di = s.dgates;
  T* __restrict df = di + n;
  T* __restrict dg = df + n;
  T* __restrict d_o = dg + n;
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) {
    const T t = math::tanh(after[k]);
    const T d = dc[k] + dh[k] * o[k] * (T(1) - t * t);
    di[k] = d * g[k] * i[k] * (T(1) - i[k]);
    df[k] = d * before[k] * f[k] * (T(1) - f[k]);
    dg[k] = d * i[k] * (T(1) - g[k] * g[k]);
    d_o[k] = dh[k] * t * o[k] * (T(1) - o[k]);
    dc[k] = d * f[k];
  }
}

// n = tanh(x_n + r h_n), h = (1 - z) n + z h_prev.
template <class T>
void gru(const GruStep<T>& s) {
  const int64_t n = s.units;
  T* __restrict r = s.gates;
  T* __restrict z = r + n;
  T* __restrict candidate = z + n;
  const T* __restrict hidden_r = s.hidden;
  const T* __restrict hidden_z = hidden_r + n;
  const T* __restrict hidden_n = hidden_z + n;
  const T* __restrict before = s.h_prev;
  T* __restrict h = s.h;
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) r[k] = sigmoid(r[k] + hidden_r[k]);
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) z[k] = sigmoid(z[k] + hidden_z[k]);
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) {
    candidate[k] = math::tanh(candidate[k] + r[k] * hidden_n[k]);
    h[k] = (T(1) - z[k]) * candidate[k] + z[k] * before[k];
  }
}

template <class T>
void gru_backward(const GruStepBackward<T>& s) {
  const int64_t n = s.units;
  const T* __restrict r = s.gates;
  const T* __restrict z = r + n;
  const T* __restrict candidate = z + n;
  const T* __restrict hidden_n = s.hidden + 2 * n;
  const T* __restrict before = s.h_prev;
  const T* dh = s.dh;  // may be dh_prev
  T* __restrict dr = s.dgates;
  T* __restrict dz = dr + n;
  T* __restrict dn = dz + n;
  T* __restrict hr = s.dhidden;
  T* __restrict hz = hr + n;
  T* __restrict hn = hz + n;
  T* dh_prev = s.dh_prev;
  TERN_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) {
    const T d = dh[k] * (T(1) - z[k]) * (T(1) - candidate[k] * candidate[k]);
    const T d_r = d * hidden_n[k] * r[k] * (T(1) - r[k]);
    const T d_z = dh[k] * (before[k] - candidate[k]) * z[k] * (T(1) - z[k]);
    dr[k] = d_r, dz[k] = d_z, dn[k] = d;
    hr[k] = d_r, hz[k] = d_z, hn[k] = d * r[k];
    dh_prev[k] = dh[k] * z[k];
  }
}

template <class T>
constexpr RecurrentSteps<T> steps{lstm<T>, lstm_backward<T>, gru<T>, gru_backward<T>};

}  // namespace

extern const RecurrentKernels recurrent_table;
const RecurrentKernels recurrent_table{steps<float>, steps<double>};

}  // namespace tern::simd::TERN_ISA
