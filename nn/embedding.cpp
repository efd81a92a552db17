#include <tern/nn/embedding.h>

#include <tern/autograd/operators.h>
#include <tern/autograd/views.h>
#include <tern/nn/init.h>

#include <fmt/format.h>

namespace tern::nn {

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options)
    : options_(options) {
  const std::optional<int64_t> padding = options.padding_idx;
  check(num_embeddings >= 0 && embedding_dim >= 0, "Embedding: sizes must not be negative, got ",
        num_embeddings, " and ", embedding_dim);
  check(!padding || (*padding >= -num_embeddings && *padding < num_embeddings),
        "Embedding: padding_idx must be from ", -num_embeddings, " to ", num_embeddings - 1, ", got ",
        padding.value_or(0));
  if (padding && *padding < 0) *options_.padding_idx += num_embeddings;
  weight = empty({num_embeddings, embedding_dim});
  init::normal_(weight);
  if (padding) zero_(select(weight, 0, *padding));
  weight.requires_grad_();
}

void Embedding::members(Visitor& visitor) { visitor.parameter("weight", weight); }

std::string Embedding::describe() const {
  const std::string padding =
      options_.padding_idx ? fmt::format(", padding_idx={}", *options_.padding_idx) : "";
  return fmt::format("Embedding({}, {}{})", weight.size(0), weight.size(1), padding);
}

}  // namespace tern::nn
