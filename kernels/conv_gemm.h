// Convolution by matrix products: serves every shape, for float and double. Internal to kernels/conv.cpp.
//
// Each image is unfolded into a matrix of windows [OH * OW, KH * KW * IC / groups], one group at a time, and
// multiplied with the weight [OC / groups, KH * KW * IC / groups].
#pragma once

#include <tern/kernels/conv.h>

namespace tern::kernels {

struct ConvSizes {
  int64_t n, h, w, ic, oh, ow, oc, kh, kw;
  Conv2dOptions options;
  int64_t group_ic() const { return ic / options.groups; }
  int64_t group_oc() const { return oc / options.groups; }
  int64_t window() const { return kh * kw * group_ic(); }
};

/// x and y NHWC, weight [OC, KH, KW, IC / groups], bias [OC] or null. T is float or double.
template <class T>
void conv_gemm_forward(const ConvSizes& sizes, const T* x, const T* weight, const T* bias, T* y);

/// dx is overwritten.
template <class T>
void conv_gemm_backward_data(const ConvSizes& sizes, const T* dy, const T* weight, T* dx);

/// dweight [OC, KH, KW, IC / groups] is overwritten.
template <class T>
void conv_gemm_backward_weight(const ConvSizes& sizes, const T* dy, const T* x, T* dweight);

}  // namespace tern::kernels
