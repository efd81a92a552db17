// The loops of every reduction, and what they start from and end in.
#pragma once

#include <tern/kernels/simd/reduce.h>

namespace tern::kernels {

using simd::Accumulator;
using simd::ReduceLoops;
using simd::ReduceOp;

/// The loops for one operation and dtype: those of this machine's instruction set, or plain ones.
ReduceLoops reduce_loops(ReduceOp op, DType dtype);

/// float64 where accumulators hold doubles, int64 where they hold integers.
DType accumulator_dtype(ReduceOp op, DType dtype);

/// The result of reducing nothing.
Accumulator reduce_start(ReduceOp op, DType dtype);

/// a[i] = a[i] combined with b[i].
void reduce_merge(ReduceOp op, DType accumulator, Accumulator* a, const Accumulator* b, int64_t count);

}  // namespace tern::kernels
