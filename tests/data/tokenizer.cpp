// The tokenizer against Hugging Face's ids (tests/golden/make_tokenizer_golden.py), and by hand.
#include <tern/data/bert_tokenizer.h>
#include <tern/data/mrpc.h>
#include <tern/tests/data/data_testing.h>
#include <tern/tests/support/golden.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace tern;
using namespace tern::data;
using namespace tern::tests;

namespace {

using Ids = std::vector<int64_t>;
using Tokens = std::vector<std::string>;

const nlohmann::json& golden() {
  static const nlohmann::json all = nlohmann::json::parse(read_file(golden_path("tokenizer.json")));
  return all;
}

Vocabulary golden_vocabulary() { return Vocabulary(golden()["vocabulary"].get<Tokens>()); }

BertTokenizer small(const BertTokenizerOptions& options = {}) {
  return BertTokenizer(Vocabulary(Tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "kan", "##to", "kanto", "lushi",
                                         "a", "b", "08", "東", "京", "ab", "##08", "[MASK]", "Kan", "##tō"}),
                       options);
}

std::string tokens_of(const std::string& text) {
  std::string joined;
  for (const std::string& token : small().tokenize(text)) joined += (joined.empty() ? "" : " ") + token;
  return joined;
}

uint64_t fnv(const Ids& ids, uint64_t sum) {
  for (const int64_t id : ids) sum = (sum ^ static_cast<uint64_t>(id)) * 0x100000001B3U;
  return sum;
}

// The folder of a real BERT that TERN_BERT_DIR names, or nothing; says so.
std::optional<fs::path> bert_folder() {
  const char* folder = std::getenv("TERN_BERT_DIR");
  if (folder) return fs::path(folder);
  MESSAGE("skipped: TERN_BERT_DIR names no folder with a BERT's vocab.txt");
  return std::nullopt;
}

}  // namespace

TEST_CASE("ids of texts from all of Unicode are those of Hugging Face's tokenizers") {
  for (const auto& one : golden()["tokenizers"]) {
    BertTokenizerOptions options{.lowercase = one["do_lower_case"].get<bool>()};
    if (one.contains("strip_accents")) options.strip_accents = one["strip_accents"].get<bool>();
    options.handle_chinese_chars = one.value("tokenize_chinese_chars", true);
    const BertTokenizer tokenizer(golden_vocabulary(), options);
    REQUIRE(one["ids"].size() >= 60);
    for (size_t i = 0; i < one["ids"].size(); ++i) {
      const auto text = golden()["texts"][i].get<std::string>();
      INFO("options ", one["do_lower_case"].dump(), ", text ", i, ": ", text);
      CHECK(tokenizer.encode(text).input_ids == one["ids"][i].get<Ids>());
    }
  }
}

TEST_CASE("texts and pairs are cut to a length as by Hugging Face's tokenizers") {
  const BertTokenizer tokenizer(golden_vocabulary());
  for (const auto& one : golden()["pairs"]) {
    const auto text = one["text"].get<std::string>();
    const EncodeOptions options{.max_length = one["max_length"].get<int64_t>()};
    const Encoding encoding = one["pair"].is_null()
                                  ? tokenizer.encode(text, options)
                                  : tokenizer.encode(text, one["pair"].get<std::string>(), options);
    INFO(one.dump());
    CHECK(encoding.input_ids == one["ids"].get<Ids>());
    CHECK(encoding.token_type_ids == one["types"].get<Ids>());
    CHECK(encoding.attention_mask == Ids(encoding.input_ids.size(), 1));
  }
}

TEST_CASE("ids become text as by Hugging Face's tokenizers") {
  const BertTokenizer tokenizer(golden_vocabulary());
  for (const auto& one : golden()["decoded"]) {
    CHECK(tokenizer.decode(one["ids"].get<Ids>()) == one["text"].get<std::string>());
    CHECK(tokenizer.decode(one["ids"].get<Ids>(), true) == one["plain"].get<std::string>());
  }
  CHECK(tokenizer.decode(Ids()).empty());
  CHECK(contains(error_of<Error>([&] { tokenizer.decode(Ids{-1}); }), "there is no token -1 among "));
}

TEST_CASE("the sentences of MRPC have the ids of Hugging Face's tokenizers, uncased and cased") {
  const auto model = bert_folder();
  const auto folder = shared_data("mrpc");
  if (!model || !folder) return;
  for (const bool lowercase : {true, false}) {
    const BertTokenizer tokenizer(Vocabulary(*model / "vocab.txt"), {.lowercase = lowercase});
    uint64_t sum = 0xCBF29CE484222325U;
    for (const bool train : {true, false}) {
      for (const SentencePair& pair : mrpc(*folder, {.train = train}))
        sum = fnv(tokenizer.encode(pair.first, pair.second).input_ids, sum);
    }
    CHECK(fmt::format("{:016x}", sum) ==
          golden()["mrpc"][lowercase ? "uncased" : "cased"].get<std::string>());
  }
}

TEST_CASE("accents, ideographs, punctuation and controls split words as they should") {
  CHECK(tokens_of("Kantō") == "kanto");
  CHECK(tokens_of("lǜshi") == "lushi");
  CHECK(tokens_of("a‧08") == "a [UNK] 08");
  CHECK(tokens_of("東京a") == "東 京 a");
  CHECK(tokens_of(std::string(101, 'a')) == "[UNK]");
  CHECK(tokens_of("a\u00ADb") == "ab");
  CHECK(tokens_of(std::string("a\0b", 3)) == "ab");
  CHECK(tokens_of("kanto[MASK]a [mask]") == "kanto [MASK] a [UNK] [UNK] [UNK]");
  CHECK(tokens_of("kanab") == "[UNK]");
  CHECK(tokens_of(" \t\n\u3000").empty());
  CHECK(small({.lowercase = false}).tokenize("Kantō KANTO a") == Tokens{"Kan", "##tō", "[UNK]", "a"});
  CHECK(small({.max_word_length = 4}).tokenize("kanto kan") == Tokens{"[UNK]", "kan"});
}

TEST_CASE("a batch is padded to its longest text, to a multiple, or to a given length") {
  const BertTokenizer tokenizer = small();
  const std::vector<Encoding> both{tokenizer.encode("a"), tokenizer.encode("a b", "08")};
  const TokenBatch batch = tokenizer.pad(both);
  CHECK(values_of<int64_t>(batch.input_ids) == Ids{2, 8, 3, 0, 0, 0, 2, 8, 9, 3, 10, 3});
  CHECK(values_of<int64_t>(batch.token_type_ids) == Ids{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1});
  CHECK(values_of<int64_t>(batch.attention_mask) == Ids{1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(tokenizer.pad(both, {.multiple_of = 4}).input_ids.shape() == Shape{2, 8});
  CHECK(tokenizer.pad(both, {.length = 7}).input_ids.shape() == Shape{2, 7});
  const auto message = [&](const std::vector<Encoding>& encodings, const PadOptions& options) {
    return error_of<Error>([&] { tokenizer.pad(encodings, options); });
  };
  CHECK(contains(message(both, {.length = 5}), "an encoding of 6 tokens is longer than the length 5"));
  CHECK(contains(message({}, {}), "there are no encodings"));
  CHECK(contains(message(both, {.multiple_of = 0}), "multiple_of at least 1, got 0 and 0"));
  CHECK(contains(message({{{1}, {}, {1}}}, {}), "1 ids, 0 types and 1 numbers in its mask"));
}

TEST_CASE("a tokenizer comes from a model's folder, with its settings") {
  const TempFolder folder;
  const auto message = [&] {
    return error_of<Error>([&] { BertTokenizer::from_pretrained(folder.path()); });
  };
  CHECK(contains(message(), "vocab.txt: there is no such file"));
  write_file(folder / "vocab.txt", "");
  CHECK(contains(message(), "vocab.txt: holds no tokens"));
  write_file(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\nA\na\n");
  CHECK(contains(message(), "the vocabulary of 5 tokens has no [SEP]"));
  write_file(folder / "vocab.txt", "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nA\r\na");
  CHECK(BertTokenizer::from_pretrained(folder.path()).ids("A") == Ids{5});
  write_file(folder / "tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": null})");
  CHECK(BertTokenizer::from_pretrained(folder.path()).ids("A") == Ids{4});
  write_file(folder / "tokenizer_config.json", R"({"do_lower_case": "no"})");
  CHECK(contains(message(), "tokenizer_config.json: do_lower_case must be true or false, got \"no\""));
  write_file(folder / "tokenizer_config.json", "{");
  CHECK(contains(message(), "tokenizer_config.json: is no JSON object"));
}

TEST_CASE("what cannot be tokenized is an error") {
  const auto message = [](const std::string& text, int64_t length) {
    return error_of<Error>([&] { small().encode(text, "b", {.max_length = length}); });
  };
  CHECK(contains(message("a\xFF", 0), "BertTokenizer: the text is no UTF-8: byte 1"));
  CHECK(contains(message("\xED\xA0\x80", 0), "byte 0"));  // half a surrogate pair
  CHECK(contains(message("a", 2), "max_length is 2, but [CLS] and [SEP] are 3 tokens"));
  CHECK(contains(message("a", -1), "max_length must not be negative, got -1"));
  CHECK(contains(error_of<Error>([] { Vocabulary(Tokens{}); }), "needs at least one token"));
}
