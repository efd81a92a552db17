"""Writes safetensors files: an 8-byte little-endian header length, a JSON header, the tensors' bytes.

Tensors are laid out by element size (large first) and name, so that each is aligned and equal input gives
equal bytes.
"""

import json
import struct
from pathlib import Path

import torch

DTYPE_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int64: "I64",
    torch.bool: "BOOL",
}


def write_safetensors(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    body = b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data = tensor.detach().contiguous().numpy().tobytes()
        offsets = [len(body), len(body) + len(data)]
        header[name] = {
            "dtype": DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": offsets,
        }
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    print(f"{path}: {len(tensors)} tensors, {path.stat().st_size} bytes")
