// BERT against Hugging Face's transformers (tests/golden/make_bert_golden.py).
#include <tern/tern.h>
#include <tern/tests/core/make_tensor.h>
#include <tern/tests/core/temporary_folder.h>
#include <tern/tests/support/golden.h>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

using namespace tern;
using namespace tern::tests;
using nn::models::BertConfig;
using nn::models::BertForSequenceClassification;
using nn::models::BertModel;
using nn::models::BertOutput;

namespace {

const std::string& tiny_folder() {
  static const std::string folder = golden_path("bert_tiny");
  return folder;
}

TensorMap tiny_golden() { return load_safetensors(golden_path("bert_tiny.safetensors")).tensors; }

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(abs(to(a.detach(), float64) - to(b, float64))).item<double>();
}

struct Batch {
  Tensor ids, mask, types, labels;
};

// The losses of fine-tuning as make_bert_golden.py describes it.
std::vector<double> fine_tuning_losses(BertForSequenceClassification& model,
                                       const std::vector<Batch>& batches) {
  std::vector<Tensor> decayed, plain;
  for (const auto& [name, parameter] : model.named_parameters())
    (name.ends_with("bias") || name.find("LayerNorm") != std::string::npos ? plain : decayed)
        .push_back(parameter);
  optim::AdamW optimizer(
      {{decayed, {.lr = 5e-5, .weight_decay = 0.01}}, {plain, {.lr = 5e-5, .weight_decay = 0}}});
  std::vector<double> losses;
  for (const Batch& batch : batches) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(batch.ids, batch.mask, batch.types), batch.labels);
    backward(loss);
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

void check_losses(const std::vector<double>& got, const Tensor& want) {
  REQUIRE(static_cast<int64_t>(got.size()) == want.numel());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - want.data<double>()[i]) < 1e-4);
  }
}

// The tiny model's folder with its weights changed; what from_pretrained() says to it.
std::string error_with(const std::function<void(TensorMap&)>& change) {
  const TemporaryFolder folder;
  TensorMap weights = load_safetensors(tiny_folder() + "/model.safetensors").tensors;
  change(weights);
  save_safetensors(folder.file("model.safetensors"), weights);
  write_text(folder.file("config.json"), read_text(tiny_folder() + "/config.json"));
  return error_of<IoError>([&] { BertForSequenceClassification::from_pretrained(folder.path()); });
}

std::string config_error(const std::string& json) {
  const TemporaryFolder folder;
  write_text(folder.file("config.json"), json);
  return error_of<IoError>([&] { BertConfig::from_file(folder.file("config.json")); });
}

// The folder of the 6-layer MiniLM that TERN_BERT_DIR names, or ""; says so.
std::string minilm_folder() {
  const char* folder = std::getenv("TERN_BERT_DIR");
  if (!folder) MESSAGE("skipped: TERN_BERT_DIR names no folder of the 6-layer MiniLM");
  return folder ? folder : "";
}

Tensor direction() {
  Tensor values = empty({384}, float64);
  for (int64_t i = 0; i < 384; ++i)
    values.data<double>()[i] = std::sin(static_cast<double>(i + 1)) / std::sqrt(192.0);
  return values;
}

BertForSequenceClassification without_dropout(const std::string& folder) {
  BertConfig config = BertConfig::from_file(folder + "/config.json");
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0;
  BertForSequenceClassification model(config);
  model.load_state_dict(BertForSequenceClassification::from_pretrained(folder).state_dict());
  return model;
}

}  // namespace

TEST_CASE("a tiny BERT's hidden states and logits are those of transformers") {
  const TensorMap golden = tiny_golden();
  const NoGradGuard no_grad;
  auto model = BertForSequenceClassification::from_pretrained(tiny_folder());
  model.eval();
  const Tensor &ids = golden.at("input_ids"), &mask = golden.at("attention_mask");
  const BertOutput body = model.bert(ids, mask, golden.at("token_type_ids"));
  CHECK(distance(body.last_hidden_state, golden.at("last_hidden_state")) < 1e-5);
  CHECK(distance(body.pooler_output, golden.at("pooler_output")) < 1e-5);
  CHECK(distance(model(ids, mask, golden.at("token_type_ids")), golden.at("logits")) < 1e-5);
  CHECK(distance(model(ids), golden.at("plain/logits")) < 1e-5);
  CHECK(distance(model(ids, to(mask, boolean), golden.at("token_type_ids")), golden.at("logits")) < 1e-5);
  auto alone = BertModel::from_pretrained(tiny_folder());
  CHECK(distance(alone(ids, mask, golden.at("token_type_ids")).pooler_output, golden.at("pooler_output")) <
        1e-5);
}

TEST_CASE("ten fine-tuning steps of a tiny BERT have the losses of PyTorch") {
  const TensorMap golden = tiny_golden();
  auto model = BertForSequenceClassification::from_pretrained(tiny_folder());
  const Batch batch{golden.at("input_ids"), golden.at("attention_mask"), golden.at("token_type_ids"),
                    golden.at("labels")};
  check_losses(fine_tuning_losses(model, std::vector<Batch>(10, batch)), golden.at("losses"));
  // The padding's vector gets no gradient.
  const Tensor grad = model.bert.embeddings.word_embeddings.weight.grad();
  CHECK(max(abs(select(grad, 0, 0))).item<double>() == 0);
}

TEST_CASE("the values of padding do not matter") {
  const NoGradGuard no_grad;
  auto model = BertModel::from_pretrained(tiny_folder());
  const Tensor mask = tensor({{1, 1, 0}});
  const Tensor one = model(tensor({{5, 6, 0}}), mask).last_hidden_state;
  const Tensor other = model(tensor({{5, 6, 63}}), mask).last_hidden_state;
  CHECK(distance(narrow(one, 1, 0, 2), narrow(other, 1, 0, 2)) == 0);
  CHECK(distance(narrow(one, 1, 0, 2), model(tensor({{5, 6}})).last_hidden_state) < 1e-6);
}

TEST_CASE("a BERT's names may come without a prefix, in TensorFlow's spelling, and with other heads") {
  const auto strip = [](TensorMap& weights) {
    TensorMap changed;
    for (auto& [name, tensor] : weights) {
      std::string now = name.starts_with("bert.") ? name.substr(5) : name;
      if (now.ends_with("LayerNorm.weight")) now.replace(now.size() - 6, 6, "gamma");
      if (now.ends_with("LayerNorm.bias")) now.replace(now.size() - 4, 4, "beta");
      changed[now] = tensor;
    }
    changed["embeddings.position_ids"] = zeros({1, 12}, int64);
    changed["cls.predictions.bias"] = zeros({64});
    weights = changed;
  };
  CHECK(error_with(strip) == "no error");
  CHECK(error_with([](TensorMap& weights) {  // a head that is not there keeps its initial values
          weights.erase("classifier.weight");
          weights.erase("classifier.bias");
        }) == "no error");
}

TEST_CASE("tensors that are missing, unexpected or of another shape are named") {
  CHECK(contains(error_with([](TensorMap& w) { w.erase("bert.encoder.layer.1.output.LayerNorm.bias"); }),
                 "bert.encoder.layer.1.output.LayerNorm.bias"));
  CHECK(contains(error_with([](TensorMap& w) { w.erase("classifier.bias"); }), "classifier.bias"));
  CHECK(contains(error_with([](TensorMap& w) { w["bert.encoder.layer.2.output.dense.bias"] = zeros({32}); }),
                 "model.safetensors: load_state_dict"));
  CHECK(contains(error_with([](TensorMap& w) { w["classifier.weight"] = zeros({2, 32}); }), "[2, 32]"));
  CHECK(contains(error_with([](TensorMap& w) { w["pooler.dense.bias"] = zeros({32}); }),
                 "bert.pooler.dense.bias is there under two names"));
  CHECK(contains(error_of<IoError>([] { BertModel::from_pretrained("/nowhere"); }),
                 "config.json: there is no such file"));
}

TEST_CASE("a config that asks for what there is not is an error that says so") {
  CHECK(contains(config_error("x"), "config.json: is no JSON object"));
  CHECK(
      contains(config_error(R"({"model_type": "roberta"})"), R"(model_type must be "bert", got "roberta")"));
  CHECK(contains(config_error(R"({"position_embedding_type": "relative_key"})"), "must be \"absolute\""));
  CHECK(contains(config_error(R"({"hidden_size": "x"})"), "hidden_size must be a whole number, got \"x\""));
  CHECK(contains(config_error(R"({"num_attention_heads": 7})"), "must divide hidden_size, got 7 and 768"));
  CHECK(contains(config_error(R"({"hidden_act": "swish"})"), "hidden_act must be gelu"));
  CHECK(contains(config_error(R"({"hidden_dropout_prob": 2})"), "hidden_dropout_prob must be from 0 to 1"));
  CHECK(contains(config_error(R"({"vocab_size": 0})"), "vocab_size must be at least 1, got 0"));
  CHECK(contains(config_error(R"({"classifier_dropout": 0.3})"), "classifier_dropout must be null"));
}

TEST_CASE("inputs of another shape, texts that are too long and unknown ids are errors") {
  auto model = BertModel::from_pretrained(tiny_folder());
  const auto message = [&](const Tensor& ids, const Tensor& mask, const Tensor& types) {
    return error_of<Error>([&] { model(ids, mask, types); });
  };
  const Tensor ids = tensor({{1, 2}});
  CHECK(contains(message(tensor({1, 2}), {}, {}), "input_ids must be [N, L], got [2]"));
  CHECK(contains(message(ids, ones({1, 3}, int64), {}), "attention_mask must be [1, 2] as input_ids are"));
  CHECK(contains(message(ids, {}, ones({2}, int64)), "token_type_ids must be [1, 2] as input_ids are"));
  CHECK(contains(message(ones({1, 13}, int64), {}, {}), "texts of 13 tokens are longer than max_position"));
  CHECK(contains(message(tensor({{64}}), {}, {}), "embedding"));
}

TEST_CASE("a BERT that was saved comes back") {
  const TemporaryFolder folder;
  BertConfig config{.vocab_size = 20,
                    .hidden_size = 8,
                    .num_hidden_layers = 1,
                    .num_attention_heads = 2,
                    .intermediate_size = 12,
                    .max_position_embeddings = 6,
                    .num_labels = 3};
  BertForSequenceClassification model(config);
  model.save_pretrained(folder.path() / "new");
  auto again = BertForSequenceClassification::from_pretrained(folder.path() / "new");
  model.eval(), again.eval();
  const Tensor ids = tensor({{1, 2, 3}});
  CHECK(distance(model(ids), again(ids)) == 0);
  CHECK(again.config().num_labels == 3);
  CHECK(again.classifier.weight.size(0) == 3);
  CHECK(contains(
      error_of<IoError>([&] { BertForSequenceClassification::from_pretrained(folder.path() / "new", 5); }),
      "classifier.weight"));
  nn::check_layer(model, ids);
}

TEST_CASE("MiniLM's hidden states of twenty sentences are those of transformers") {
  const std::string folder = minilm_folder();
  if (folder.empty()) return;
  const Safetensors golden = load_safetensors(golden_path("bert_minilm.safetensors"));
  const auto tokenizer = data::BertTokenizer::from_pretrained(folder);
  auto model = BertModel::from_pretrained(folder);
  model.eval();
  const NoGradGuard no_grad;
  std::istringstream sentences(golden.metadata.at("sentences"));
  int64_t number = 0;
  for (std::string sentence; std::getline(sentences, sentence); ++number) {
    CAPTURE(sentence);
    const data::TokenBatch batch = tokenizer.pad({tokenizer.encode(sentence)});
    const BertOutput body = model(batch.input_ids, batch.attention_mask, batch.token_type_ids);
    const Tensor hidden = select(body.last_hidden_state, 0, 0);
    const auto want = [&](const char* name) { return select(golden.tensors.at(name), 0, number); };
    CHECK(distance(narrow(select(hidden, 0, 0), 0, 0, 8), want("first")) < 1e-5);
    CHECK(distance(narrow(select(hidden, 0, -1), 0, 0, 8), want("last")) < 1e-5);
    CHECK(distance(narrow(select(body.pooler_output, 0, 0), 0, 0, 8), want("pooled")) < 1e-5);
    CHECK(distance(matmul(to(hidden, float64), direction()),
                   golden.tensors.at("projected/" + std::to_string(number))) < 1e-5);
  }
  CHECK(number == 20);
}

TEST_CASE("ten fine-tuning steps of MiniLM have the losses of PyTorch") {
  const std::string folder = minilm_folder();
  if (folder.empty()) return;
  const Safetensors golden = load_safetensors(golden_path("bert_minilm.safetensors"));
  const auto tokenizer = data::BertTokenizer::from_pretrained(folder);
  std::vector<std::string> sentences;
  std::istringstream lines(golden.metadata.at("sentences"));
  for (std::string line; std::getline(lines, line);) sentences.push_back(line);
  std::vector<Batch> batches;
  for (size_t k = 0; k < 10; ++k) {
    std::vector<data::Encoding> pairs;
    std::vector<int64_t> labels;
    for (size_t j = 0; j < 8; ++j) {
      const size_t i = (8 * k + j) % 20;
      pairs.push_back(tokenizer.encode(sentences.at(i), sentences.at(19 - i)));
      labels.push_back(i % 3 == 0 ? 1 : 0);
    }
    const data::TokenBatch batch = tokenizer.pad(pairs);
    batches.push_back({batch.input_ids, batch.attention_mask, batch.token_type_ids, from_vector(labels)});
  }
  auto model = without_dropout(folder);
  for (int64_t i = 0; i < 768; ++i)
    model.classifier.weight.data<float>()[i] = static_cast<float>(0.02 * std::sin(static_cast<double>(i)));
  check_losses(fine_tuning_losses(model, batches), golden.tensors.at("losses"));
}
