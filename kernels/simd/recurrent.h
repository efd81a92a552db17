// One step of LSTM and GRU for one sample: the work inside kernels/recurrent.cpp.
//
// Rows are dense and hold `units` elements a gate, one gate after the other. T is float or double. Nothing
// here allocates, starts threads or throws.
#pragma once

#include <cstdint>

namespace tern::simd {

template <class T>
struct LstmStep {
  int64_t units;
  T* gates;         ///< i, f, g, o before their activation (forward overwrites them with their values)
  const T* c_prev;  ///< the cell before the step
  T* c;             ///< and after it
  T* h;             ///< the output
};

template <class T>
struct LstmStepBackward {
  int64_t units;
  const T *gates, *c_prev, *c;  ///< as forward left them
  const T* dh;                  ///< the gradient of h
  T* dc;                        ///< of c; overwritten by the one of c_prev
  T* dgates;                    ///< of the gates before their activation
};

template <class T>
struct GruStep {
  int64_t units;
  T* gates;         ///< r, z, n from the input (forward overwrites them with their values)
  const T* hidden;  ///< r, z, n from h_prev
  const T* h_prev;
  T* h;
};

template <class T>
struct GruStepBackward {
  int64_t units;
  const T *gates, *hidden, *h_prev;  ///< as forward left them
  const T* dh;
  T* dgates;   ///< of the gates from the input
  T* dhidden;  ///< of those from h_prev
  T* dh_prev;  ///< the part of h_prev's gradient that does not pass through them; may be dh itself
};

template <class T>
struct RecurrentSteps {
  void (*lstm)(const LstmStep<T>&);
  void (*lstm_backward)(const LstmStepBackward<T>&);
  void (*gru)(const GruStep<T>&);
  void (*gru_backward)(const GruStepBackward<T>&);
};

struct RecurrentKernels {
  RecurrentSteps<float> float32;
  RecurrentSteps<double> float64;
};

/// The kernels for this machine's instruction set (isa.h).
const RecurrentKernels& recurrent_kernels();

}  // namespace tern::simd
