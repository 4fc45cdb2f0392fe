"""Tensors as DLPack capsules, from other libraries and to them, without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_NAME = b"dltensor"
_CPU = 1
_UNSIGNED, _BFLOAT = 1, 4
"""Type codes of DLPack; numpy lacks the second."""

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class _Tensor(ctypes.Structure):
    """The beginning of DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Capsule:
    """A capsule as numpy takes it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


def array_of(data: Any) -> np.ndarray[Any, Any]:
    """The array over a tensor's memory; bfloat16 as ``ml_dtypes`` has it.

    Parameters
    ----------
    data : capsule, or object with ``__dlpack__``
        On the CPU. A capsule is used up.

    Raises
    ------
    TypeError
        If it is neither, or the capsule was used already.
    RuntimeError
        If it lies elsewhere, or numpy has no such type.
    """
    capsule = data.__dlpack__() if hasattr(data, "__dlpack__") else data
    if not _is_valid(capsule, _NAME):
        raise TypeError("from_dlpack expected a valid DLPack capsule named 'dltensor'")
    tensor = _content(capsule)
    if tensor.device_type != _CPU:
        raise RuntimeError(f"the tensor lies on DLPack's device {tensor.device_type}, not the CPU")
    if (tensor.code, tensor.bits) != (_BFLOAT, 16):
        return np.from_dlpack(_Capsule(capsule))
    import ml_dtypes  # most programs have no such tensors

    tensor.code = _UNSIGNED  # the capsule is ours: nobody else reads it
    return np.from_dlpack(_Capsule(capsule)).view(ml_dtypes.bfloat16)


def capsule_of(array: np.ndarray[Any, Any]) -> Any:
    """A capsule over an array's memory, which must outlive it.

    Raises
    ------
    BufferError
        If DLPack has no such type, or the array must not be written to.
    """
    if array.dtype.name != "bfloat16":
        return array.__dlpack__()
    capsule = array.view(np.uint16).__dlpack__()
    _content(capsule).code = _BFLOAT
    return capsule


def _content(capsule: Any) -> _Tensor:
    return _Tensor.from_address(_get_pointer(capsule, _NAME))
