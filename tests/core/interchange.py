"""Arrays go from Python to Tern and back, as .npy, .npz and safetensors files and through DLPack.

python3 interchange.py LIBRARY           the test: LIBRARY is interchange.cpp as a shared library
python3 interchange.py LIBRARY torch     the same with PyTorch's tensors, run by hand
"""

import ctypes
import gc
import sys
import tempfile
from pathlib import Path

import numpy
import safetensors
import safetensors.numpy

library = ctypes.CDLL(sys.argv[1])
library.transposed.restype = ctypes.c_void_p
library.transposed.argtypes = [ctypes.c_void_p]
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
NAME, USED = b"dltensor", b"used_dltensor"


class FromTern:
    """What from_dlpack() of the other side asks."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: object) -> object:
        return python.PyCapsule_New(self.pointer, NAME, None)


def through_tern(array: object) -> FromTern:
    capsule = array.__dlpack__()
    pointer = library.transposed(python.PyCapsule_GetPointer(capsule, NAME))
    assert pointer, "Tern refused the array"
    python.PyCapsule_SetName(capsule, USED)
    return FromTern(pointer)


def arrays() -> list[numpy.ndarray]:
    random = numpy.random.default_rng(0)
    result = [numpy.array(True), numpy.zeros((0, 3), numpy.float32), numpy.array(2.5)]
    for dtype in ("f4", "f8", "f2", "i8", "i4", "u1", "?"):
        array = (random.standard_normal((2, 3, 5)) * 100).astype(numpy.dtype(dtype))
        result += [array, array[0], array.transpose(2, 0, 1), array[:, ::2], numpy.asfortranarray(array)]
    return result


def copy(how: str, before: Path, after: Path) -> None:
    assert library.copy_file(how.encode(), str(before).encode(), str(after).encode()) == 0


def check_same(back: numpy.ndarray, array: numpy.ndarray) -> None:
    assert back.dtype == array.dtype and back.shape == array.shape
    numpy.testing.assert_array_equal(back, array)


def check_npy(folder: Path) -> None:
    before, after, again = (folder / name for name in ("before.npy", "after.npy", "again.npy"))
    for array in arrays():
        numpy.save(before, array)
        copy("npy", before, after)
        check_same(numpy.load(after), array)
        numpy.save(again, numpy.ascontiguousarray(array).reshape(array.shape))
        assert after.read_bytes() == again.read_bytes(), "the bytes differ from NumPy's"


def check_npz(folder: Path) -> None:
    before, after = folder / "before.npz", folder / "after.npz"
    named = {f"array {i}/\u00e9": array for i, array in enumerate(arrays())}
    large = {"zeros": numpy.zeros((3, 1 << 20), numpy.float32), "count": numpy.arange(1 << 20)}
    for content in ({}, named, large):
        for save in (numpy.savez, numpy.savez_compressed):
            save(before, **content)
            for how in ("npz", "npz compressed"):
                copy(how, before, after)
                with numpy.load(after) as back:
                    assert set(back.files) == set(content)
                    for name, array in content.items():
                        check_same(back[name], array)
    assert after.stat().st_size < 0.5 * sum(array.nbytes for array in large.values())


def check_safetensors(folder: Path) -> None:
    before, after = folder / "before.safetensors", folder / "after.safetensors"
    named = {f"array {i} \u00e9": numpy.ascontiguousarray(array) for i, array in enumerate(arrays())}
    bits = numpy.arange(6, dtype="u2")  # NumPy has no bfloat16
    half = safetensors.TensorSpec(
        dtype="bfloat16", shape=[2, 3], data_ptr=bits.ctypes.data, data_len=bits.nbytes
    )
    safetensors.serialize_file({"half": half}, before, {"made by": "Python"})
    contents = [before.read_bytes()]
    for metadata in (None, {"epoch": "3", "name \u00e9": '"quoted"\n'}):
        contents += [safetensors.numpy.save(named, metadata), safetensors.numpy.save({}, metadata)]
    for content in contents:
        before.write_bytes(content)
        for how in ("safetensors", "safetensors mapped"):
            copy(how, before, after)
            assert dict(safetensors.deserialize(after.read_bytes())) == dict(safetensors.deserialize(content))
            with safetensors.safe_open(before, "np") as old, safetensors.safe_open(after, "np") as new:
                assert (old.metadata() or {}) == (new.metadata() or {})
    check_same(safetensors.numpy.load(contents[1])["array 3 \u00e9"], arrays()[3])


def check_dlpack() -> None:
    for array in arrays():
        if array.ndim == 0:
            continue
        back = numpy.from_dlpack(through_tern(array))
        assert back.dtype == array.dtype
        assert array.size == 0 or numpy.shares_memory(back, array)
        numpy.testing.assert_array_equal(back, numpy.swapaxes(array, 0, -1))
    before = numpy.arange(6.0).reshape(2, 3)
    held = numpy.from_dlpack(through_tern(before))
    address = held.ctypes.data
    del before
    gc.collect()
    filler = [numpy.full((2, 3), -1.0) for _ in range(100)]
    assert held.ctypes.data == address and held[2, 1] == 5, filler[0]


def check_torch() -> None:
    import torch

    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool):
        x = (torch.randn(2, 3, 5) * 10).to(dtype)
        for part in (x, x[0], x.permute(2, 0, 1), x[:, ::2]):
            back = torch.from_dlpack(through_tern(part))
            assert back.dtype == dtype and back.data_ptr() == part.data_ptr()
            assert torch.equal(back, part.transpose(0, -1))


with tempfile.TemporaryDirectory() as name:
    check_npy(Path(name))
    check_npz(Path(name))
    check_safetensors(Path(name))
check_dlpack()
if sys.argv[2:] == ["torch"]:
    check_torch()
print("all arrays came back as they were")
