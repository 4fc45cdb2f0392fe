"""Numpy arrays, lists and dicts to the core's values and back, for every ONNX element type."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from surplus.engine._core import Value
from surplus.engine.element_type import ElementType

if TYPE_CHECKING:
    import numpy.typing as npt

_NATIVE: dict[int, np.dtype[Any]] = {
    ElementType.FLOAT: np.dtype(np.float32),
    ElementType.UINT8: np.dtype(np.uint8),
    ElementType.INT8: np.dtype(np.int8),
    ElementType.UINT16: np.dtype(np.uint16),
    ElementType.INT16: np.dtype(np.int16),
    ElementType.INT32: np.dtype(np.int32),
    ElementType.INT64: np.dtype(np.int64),
    ElementType.STRING: np.dtype(np.object_),
    ElementType.BOOL: np.dtype(np.bool_),
    ElementType.FLOAT16: np.dtype(np.float16),
    ElementType.DOUBLE: np.dtype(np.float64),
    ElementType.UINT32: np.dtype(np.uint32),
    ElementType.UINT64: np.dtype(np.uint64),
    ElementType.COMPLEX64: np.dtype(np.complex64),
    ElementType.COMPLEX128: np.dtype(np.complex128),
}
# Types that numpy lacks, by their names in ml_dtypes; the core sees their raw bits as unsigned
# integers.
_EXTENDED: dict[int, str] = {
    ElementType.BFLOAT16: "bfloat16",
    ElementType.FLOAT8E4M3FN: "float8_e4m3fn",
    ElementType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    ElementType.FLOAT8E5M2: "float8_e5m2",
    ElementType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    ElementType.FLOAT8E8M0: "float8_e8m0fnu",
}
# Types below a byte: ml_dtypes keeps an element in a byte, ONNX packs them, low bits first.
_PACKED: dict[int, tuple[str, int]] = {
    ElementType.UINT4: ("uint4", 4),
    ElementType.INT4: ("int4", 4),
    ElementType.FLOAT4E2M1: ("float4_e2m1fn", 4),
    ElementType.UINT2: ("uint2", 2),
    ElementType.INT2: ("int2", 2),
}
_SIGNED = {ElementType.INT4, ElementType.INT2}

# Hot path: arrays of these go to the core as they are.
_DIRECT = {dtype: int(code) for code, dtype in _NATIVE.items() if code != ElementType.STRING}

NUMPY_TYPES = frozenset(_DIRECT.values())
"""Element types of numbers that numpy itself has."""


@functools.cache
def _dtypes() -> dict[int, np.dtype[Any]]:
    """Of every element type; most programs have no use for those of ml_dtypes."""
    import ml_dtypes

    names = _EXTENDED | {code: name for code, (name, _) in _PACKED.items()}
    return _NATIVE | {code: np.dtype(getattr(ml_dtypes, name)) for code, name in names.items()}


@functools.cache
def _elem_types() -> dict[np.dtype[Any], int]:
    return {dtype: int(code) for code, dtype in _dtypes().items()}


def dtype_of(elem_type: int) -> np.dtype[Any]:
    """Numpy dtype of an ONNX element type; ValueError if there is none."""
    try:
        return _NATIVE[elem_type] if elem_type in _NATIVE else _dtypes()[elem_type]
    except KeyError:
        raise ValueError(f"{elem_type} is not an ONNX element type") from None


def elem_type_of(dtype: npt.DTypeLike) -> int:
    """ONNX element type of a numpy dtype; ValueError if there is none."""
    exact = np.dtype(dtype)
    if exact.kind in "USOT":
        return int(ElementType.STRING)
    native = exact if exact.isnative else exact.newbyteorder("=")
    try:
        return _DIRECT[native] if native in _DIRECT else _elem_types()[native]
    except KeyError:
        raise ValueError(f"ONNX has no element type for numpy's {exact}") from None


@overload
def to_value(data: npt.NDArray[Any], elem_type: int | None = None) -> Value: ...
@overload
def to_value(data: Any, elem_type: int | None = None) -> Value | None: ...
def to_value(data: Any, elem_type: int | None = None) -> Value | None:
    """
    Wrap what a user passes for an input.

    Parameters
    ----------
    data : array_like, list or None
        An array or a scalar for a tensor (not copied where contiguous, so it must not change
        while in use), a list of arrays for a sequence, None for an absent optional.
    elem_type : int, optional
        The ONNX element type that the model wants; by default that of the array's dtype.

    Raises
    ------
    ValueError
        The data is of another type, big-endian, or nothing that ONNX can hold.
    """
    if type(data) is np.ndarray:
        direct = _DIRECT.get(data.dtype)
        if direct is not None and (elem_type is None or elem_type == direct):
            return Value.from_numpy(data, direct)
    if data is None or isinstance(data, Value):
        return data
    if isinstance(data, list | tuple):
        return _sequence(data, elem_type)
    array = np.asarray(data)
    wanted = elem_type_of(array.dtype) if elem_type is None else elem_type
    return _tensor(array, wanted)


def from_value(value: Value | None) -> Any:
    """
    Turn a value into an array (over the same memory), a list, a dict or None.

    Scalars are arrays of no dimension; strings are object arrays of str.
    """
    if value is None:
        return None
    elem_type = value.elem_type
    if elem_type:
        return value.to_numpy() if elem_type in _NATIVE else _array(value, elem_type)
    match value.kind:
        case "sequence":
            return _parts(value)
        case "map":
            return (value.dicts() or [{}])[0]
        case _:
            return None


def _parts(value: Value) -> list[Any]:
    """What a sequence holds; parts of types that numpy lacks one by one."""
    arrays = value.arrays()
    if arrays is not None:
        return arrays
    dicts = value.dicts()
    return [from_value(item) for item in value.items()] if dicts is None else dicts


def _sequence(data: list[Any] | tuple[Any, ...], elem_type: int | None) -> Value:
    items = [to_value(item, elem_type) for item in data]
    present = [item for item in items if item is not None]
    if len(present) != len(items):
        raise ValueError("a sequence of tensors cannot hold None")
    return Value.sequence(present, elem_type or int(ElementType.FLOAT))


def _tensor(array: npt.NDArray[Any], elem_type: int) -> Value:
    wanted = dtype_of(elem_type)
    if elem_type == ElementType.STRING:
        return Value.from_numpy(_objects(array), elem_type)
    if not array.dtype.isnative:
        raise ValueError(byte_order_error(array.dtype))
    if array.dtype != wanted:
        raise ValueError(f"expected elements of {wanted}, got {array.dtype}")
    if elem_type in _PACKED:
        return Value.from_packed(_pack(array, _PACKED[elem_type][1]), elem_type, array.shape)
    if elem_type in _EXTENDED:
        bits = np.ascontiguousarray(array).view(f"u{wanted.itemsize}").reshape(array.shape)
        return Value.from_numpy(bits, elem_type)
    return Value.from_numpy(array, elem_type)


def byte_order_error(dtype: np.dtype[Any]) -> str:
    """What is wrong with elements of another byte order than this machine's."""
    native = dtype.newbyteorder("=")
    return f"{dtype.str} is not in this machine's byte order: array.astype({native.name!r}) is"


def _objects(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind not in "USOT":
        raise ValueError(f"expected strings, got {array.dtype}")
    return array.astype(np.object_, copy=False)


def _array(value: Value, elem_type: int) -> npt.NDArray[Any]:
    raw = value.to_numpy()
    if elem_type in _PACKED:
        return _unpack(raw, elem_type, value.shape)
    return raw.view(dtype_of(elem_type))


def _pack(array: npt.NDArray[Any], bits: int) -> npt.NDArray[np.uint8]:
    per_byte = 8 // bits
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    padded[: codes.size] = codes
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    lanes = padded.reshape(-1, per_byte) << shifts
    packed: npt.NDArray[np.uint8] = np.bitwise_or.reduce(lanes, axis=1).astype(np.uint8)
    return packed


def _unpack(raw: npt.NDArray[Any], elem_type: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    dtype, bits = _PACKED[elem_type]
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)
    codes = codes[: math.prod(shape)].astype(np.uint8)
    if elem_type in _SIGNED:  # ml_dtypes keeps the sign in the upper bits, too
        sign = np.uint8(1 << (bits - 1))
        codes = (codes ^ sign) - sign
    return codes.view(dtype).reshape(shape)
