"""Arrays go from NumPy to Tern and back, as .npy files and through DLPack.

python3 interchange.py LIBRARY           the test: LIBRARY is interchange.cpp as a shared library
python3 interchange.py LIBRARY torch     the same with PyTorch's tensors, run by hand
"""

import ctypes
import gc
import sys
import tempfile
from pathlib import Path

import numpy

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


def check_npy() -> None:
    with tempfile.TemporaryDirectory() as folder:
        before, after, again = (Path(folder) / name for name in ("before.npy", "after.npy", "again.npy"))
        for array in arrays():
            numpy.save(before, array)
            assert library.copy_npy(str(before).encode(), str(after).encode()) == 0
            back = numpy.load(after)
            assert back.dtype == array.dtype and back.shape == array.shape
            numpy.testing.assert_array_equal(back, array)
            numpy.save(again, numpy.ascontiguousarray(array).reshape(array.shape))
            assert after.read_bytes() == again.read_bytes(), "the bytes differ from NumPy's"


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


check_npy()
check_dlpack()
if sys.argv[2:] == ["torch"]:
    check_torch()
print("all arrays came back as they were")
