#!/usr/bin/env python3
"""Writes tokenizer.json: texts, and what Hugging Face's BertTokenizer makes of them. Run by hand.

    python3 make_tokenizer_golden.py [--model DIR --data DIR]    (transformers 5.25.0, tokenizers 0.23.3)

The texts are drawn at random from all of Unicode: words of one script, mixtures, and traps (special tokens,
controls, long words). The vocabulary, also in the file, holds most of their characters alone and inside
words, and some longer pieces. With --model (a folder with the vocab.txt of bert-base-uncased) and --data (the
folder of the Microsoft Research Paraphrase Corpus) the file's `mrpc` is made anew too: FNV-1a sums of all ids
of all its pairs, `uncased` and `cased`; otherwise it stays.
"""

import argparse
import json
import random
import tempfile
import unicodedata
from pathlib import Path

from transformers import BertTokenizer

FILE = Path(__file__).resolve().parent / "tokenizer.json"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TRAPS = [
    "",
    " \t\n\r ",
    "Kantō",
    "lǜshi",
    "a‧08",
    "東京a",
    "a" * 100,
    "a" * 101,
    "é" * 100,
    "é" * 101,
    "a\u00adb",
    "a\u0000b\ufffdc\u200bd\u2028e\u0085f",
    "İstanbul ẞ ß ŉ ǰ ﬁ Σς ᾳ",
    "[MASK] x[MASK]y [mask] [[MASK]] [ MASK ] [CLS][SEP][PAD][UNK] [UNK",
    "don't stop... (now), e.g. $5.00 ^ ~ ` | <b>&amp;</b> a_b c-d",
    "한국어 조선 각 힣",
    "ガギグ ﾊﾟ が か゛",
    "👩‍👩‍👧 🤣 🇩🇪 👍🏽",
    "نص عربي مُشَكَّل עִבְרִית हिन्दी ไทย",
    "a\u0301\u0323\u0300 \u0344 \u0958 q\u0307\u0323",
    "x\u1734y ᙭ 𑇉 \u1bab",
    "##a ##ing # #a a##b",
    "\U000e0001tag\U000e0020s \ue000 \U0010fffd",
]


def assigned(low: int, high: int) -> list[str]:
    return [chr(c) for c in range(low, high) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]


def make_texts(rng: random.Random) -> list[str]:
    blocks = [assigned(start, start + 0x80) for start in range(0, 0x20000, 0x80)]
    blocks = [block for block in blocks if block]
    latin = assigned(0x20, 0x250)
    everything = [c for block in blocks for c in block] + assigned(0x20000, 0x32000)[::50]
    texts = []
    for _ in range(640):
        words = []
        for _ in range(rng.randint(1, 5)):
            source = rng.choice([latin, rng.choice(blocks), rng.choice(blocks), everything])
            words.append("".join(rng.choice(source) for _ in range(rng.randint(1, 6))))
        texts.append(rng.choice([" ", "", "\t", "\u3000"]).join(words))
    return texts


def make_vocabulary(rng: random.Random, texts: list[str]) -> list[str]:
    pieces = set("abcdefghijklmnopqrstuvwxyz0123456789.,?!'-()") | {
        "ing",
        "kan",
        "kanto",
        "lushi",
        "to",
        "08",
    }
    for text in texts:
        for form in (text, unicodedata.normalize("NFD", text).lower()):
            pieces |= {c for c in form if not c.isspace() and rng.random() < 0.9}
            for word in form.split():
                at = rng.randrange(len(word))
                pieces.add(word[at : at + 2])
    pieces = sorted(piece for piece in pieces if piece.isprintable())
    inside = [f"##{piece}" for piece in pieces if rng.random() < 0.85]
    return SPECIAL + pieces + inside


def case(tokenizer: BertTokenizer, text: str, pair: str | None = None, length: int | None = None) -> dict:
    encoding = tokenizer(text, pair, truncation=length is not None, max_length=length)
    return {
        "text": text,
        "pair": pair,
        "max_length": length or 0,
        "ids": encoding["input_ids"],
        "types": encoding["token_type_ids"],
    }


def fnv(numbers: list[int], sum_so_far: int) -> int:
    for number in numbers:
        sum_so_far = ((sum_so_far ^ number) * 0x100000001B3) % 2**64
    return sum_so_far


def mrpc_sums(model: Path, data: Path) -> dict[str, str]:
    sums = {}
    for name in ("uncased", "cased"):
        tokenizer = BertTokenizer(str(model / "vocab.txt"), do_lower_case=name == "uncased")
        value = 0xCBF29CE484222325
        for part in ("train", "test"):
            text = (data / f"msr_paraphrase_{part}.txt").read_text(encoding="utf-8-sig")
            for line in text.split("\n")[1:]:
                if line:
                    _, _, _, first, second = line.split("\t")
                    value = fnv(tokenizer(first, second)["input_ids"], value)
        sums[name] = f"{value:016x}"
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    rng = random.Random(5)
    texts = TRAPS + make_texts(rng)
    vocabulary = make_vocabulary(rng, texts)
    result: dict = {"vocabulary": vocabulary, "texts": texts, "tokenizers": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.txt"
        path.write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8")
        for count, settings in (
            (len(texts), {"do_lower_case": True}),
            (350, {"do_lower_case": False}),
            (60, {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False}),
            (60, {"do_lower_case": False, "strip_accents": True}),
        ):
            tokenizer = BertTokenizer(str(path), **settings)
            ids = [tokenizer(text)["input_ids"] for text in texts[:count]]
            result["tokenizers"].append({**settings, "ids": ids})
        tokenizer = BertTokenizer(str(path))
        pairs = [("a b c d e f", "g h i j k l"), ("a b c d e f g h", "g h"), ("g h", "a b c d e f g h")]
        pairs += [(" ", " "), ("a", " "), ("kanto [SEP] a", "ing ing")]
        cases = [case(tokenizer, a, b, n) for a, b in pairs for n in range(3, 18)]
        result["pairs"] = [case(tokenizer, a, None, n) for a, _ in pairs for n in range(2, 10)] + cases
        result["decoded"] = [
            {"ids": ids, "text": tokenizer.decode(ids), "plain": tokenizer.decode(ids, True)}
            for ids in result["tokenizers"][0]["ids"][:40] + [one["ids"] for one in cases[::9]]
        ]
    if options.model and options.data:
        result["mrpc"] = mrpc_sums(options.model, options.data)
    elif FILE.exists():
        result["mrpc"] = json.loads(FILE.read_text(encoding="utf-8"))["mrpc"]
    lines = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    FILE.write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
