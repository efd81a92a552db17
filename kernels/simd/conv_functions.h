// The functions of one instruction set's ConvKernels; conv.h says what each does.
#pragma once

#include <tern/kernels/simd/conv.h>
#include <tern/kernels/simd/vec.h>

namespace tern::simd::TERN_ISA {

int64_t forward_packed(const ConvShape& s);
int64_t pack_forward_items(const ConvShape& s);
void pack_forward(const ConvShape& s, const float* w, const WeightStrides& strides, float* packed,
                  int64_t begin, int64_t end);
int64_t forward_items(const ConvShape& s);
int64_t forward_scratch(const ConvShape& s);
void forward(const ConvForward& args, int64_t begin, int64_t end, float* scratch);

int64_t backward_data_packed(const ConvShape& s);
int64_t pack_backward_data_items(const ConvShape& s);
void pack_backward_data(const ConvShape& s, const float* w, const WeightStrides& strides, float* packed,
                        int64_t begin, int64_t end);
int64_t backward_data_items(const ConvShape& s);
int64_t backward_data_scratch(const ConvShape& s);
void backward_data(const ConvBackwardData& args, int64_t begin, int64_t end, float* scratch);

int64_t backward_weight_partials(const ConvShape& s);
int64_t backward_weight_items(const ConvShape& s);
int64_t backward_weight_scratch(const ConvShape& s);
void backward_weight(const ConvBackwardWeight& args, int64_t begin, int64_t end, float* scratch);
int64_t reduce_weight_items(const ConvShape& s);
void reduce_weight(const ConvShape& s, const float* partials, float* dw, const WeightStrides& strides,
                   float* db, int64_t begin, int64_t end);

extern const ConvKernels conv_table;

}  // namespace tern::simd::TERN_ISA
