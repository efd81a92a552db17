"""Interchange with Python's `safetensors` (pip install safetensors torch), run by hand.

  python python_safetensors.py make python.safetensors    writes the file that the test reads
  python python_safetensors.py check FILE                 reads a file that Tern wrote: the same tensors
"""

import sys

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save, save_file

METADATA = {"made by": "Python, \u201csafetensors\u201d\n"}


def tensors():
    halves = torch.tensor([0.5, -2.0, 65504.0, 2.0**-24])
    return {
        "float32": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 4,
        "float64": torch.tensor([1 / 3, -1e300, float("inf")], dtype=torch.float64),
        "float16": halves.to(torch.float16),
        "bfloat16": halves.to(torch.bfloat16),
        "int64": torch.tensor([[-(2**63)], [2**63 - 1]]),
        "int32": torch.tensor([-7, 2**31 - 1], dtype=torch.int32),
        "uint8": torch.tensor([0, 127, 255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(3, 0, 2),
        "name \u00e9 \"quoted\"": torch.ones(1, dtype=torch.uint8),
    }


def check(path):
    with safe_open(path, "pt") as file:
        assert file.metadata() == METADATA, file.metadata()
    loaded, expected = load_file(path), tensors()
    assert loaded.keys() == expected.keys(), loaded.keys() ^ expected.keys()
    for name, tensor in expected.items():
        assert loaded[name].dtype == tensor.dtype and torch.equal(loaded[name], tensor), name
    with open(path, "rb") as file:
        assert file.read() == save(expected, METADATA), "the bytes differ from the Python library's"
    print(path, "holds what it should, byte for byte")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        save_file(tensors(), sys.argv[2], METADATA)
    else:
        check(sys.argv[2])
