// The Microsoft Research Paraphrase Corpus (Dolan and Brockett, 2005), a task of GLUE: pairs of sentences,
// and whether they say the same.
#pragma once

#include <tern/data/download.h>

#include <vector>

namespace tern::data {

struct SentencePair {
  std::string first, second;
  int64_t label = 0;  ///< 1 for a paraphrase
};

struct MrpcOptions {
  bool train = true;  ///< the 4,076 pairs for training, or the 1,725 for testing
};

/// Reads msr_paraphrase_train.txt or msr_paraphrase_test.txt, as they are published, from `folder` or from
/// mrpc in it. Throws IoError naming file and line for one that is missing, is no such table, or has a label
/// other than 0 and 1.
std::vector<SentencePair> mrpc(const std::filesystem::path& folder, const MrpcOptions& options = {});

/// The two files where GLUE's tools get them.
struct MrpcFiles {
  RemoteFile train, test;
};
MrpcFiles mrpc_files();

/// Fetches the two files to `folder`, each unless it is there. The corpus is for research, not for commerce.
/// Throws IoError as download() does, saying what else can be done.
void download_mrpc(const std::filesystem::path& folder, const DownloadOptions& options = {},
                   const MrpcFiles& files = mrpc_files());

}  // namespace tern::data
