// Scaled dot-product attention as the pattern of operations that cuDNN's flash attention engines know.

#pragma once

#include <tern/tests/simgpu/cudnn/tests/graph.h>

namespace drive {

struct AttentionShape {
  int64_t batch = 2, heads = 4, key_heads = 4, queries = 16, keys = 16, width = 64, value_width = 64;
  cudnnDataType_t dtype = CUDNN_DATA_HALF;
  bool scale = true, bias = false, causal = false, dropout = false;
  bool stats = true;          // in memory; virtual otherwise
  bool heads_inside = false;  // [batch, row, head, column] in memory
};

/// Numbers of the tensors in memory; scale, minus infinity and dropout's probability are given by value.
enum AttentionTensor : int64_t {
  attention_q = 1,
  attention_k,
  attention_v,
  attention_o,
  attention_stats,
  attention_scale,
  attention_bias,
  attention_infinity,
  attention_seed,
  attention_offset,
  attention_keep,
  attention_do,
  attention_dq,
  attention_dk,
  attention_dv
};

/// Strides of [batch, head, row, column].
Sizes attention_strides(const AttentionShape& shape, int64_t heads, int64_t rows, int64_t columns);

Graph attention_forward(const AttentionShape& shape);
Graph attention_backward(const AttentionShape& shape);
/// The forward pass as a single operation.
Graph attention_operation(const AttentionShape& shape);

}  // namespace drive
