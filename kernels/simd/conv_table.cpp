#include <tern/kernels/simd/conv_functions.h>

namespace tern::simd::TERN_ISA {

const ConvKernels conv_table = {
    forward_packed,
    pack_forward_items,
    pack_forward,
    forward_items,
    forward_scratch,
    forward,
    backward_data_packed,
    pack_backward_data_items,
    pack_backward_data,
    backward_data_items,
    backward_data_scratch,
    backward_data,
    backward_weight_partials,
    backward_weight_items,
    backward_weight_scratch,
    backward_weight,
    reduce_weight_items,
    reduce_weight,
};

}  // namespace tern::simd::TERN_ISA
