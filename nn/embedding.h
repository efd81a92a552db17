// The table of vectors that indices (of words, of classes) stand for.
#pragma once

#include <tern/autograd/indexing.h>
#include <tern/nn/module.h>

namespace tern::nn {

/// Row i of `weight` [num_embeddings, embedding_dim] for each index i: [...] int64 gives [...,
/// embedding_dim]. weight starts from N(0, 1), its row padding_idx from 0; that row gets no gradient. Throws
/// Error for negative sizes, a padding_idx that is no row, and in forward() for an index that is none.
class Embedding : public Layer<Embedding> {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& indices) { return embedding(indices, weight, options_); }
  void members(Visitor& visitor) override;
  std::string describe() const override;

  Tensor weight;

 private:
  EmbeddingOptions options_;
};

}  // namespace tern::nn
