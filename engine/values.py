"""Numpy arrays, lists and dicts to the core's values and back, for every ONNX element type."""

import math
from typing import Any, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from engine._core import Value

_NATIVE: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.UINT8: np.dtype(np.uint8),
    TensorProto.INT8: np.dtype(np.int8),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.STRING: np.dtype(np.object_),
    TensorProto.BOOL: np.dtype(np.bool_),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
    TensorProto.COMPLEX64: np.dtype(np.complex64),
    TensorProto.COMPLEX128: np.dtype(np.complex128),
}
# Types that numpy lacks; the core sees their raw bits as unsigned integers.
_EXTENDED: dict[int, np.dtype[Any]] = {
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    TensorProto.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    TensorProto.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    TensorProto.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    TensorProto.FLOAT8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
}
# Types below a byte: ml_dtypes keeps an element in a byte, ONNX packs them, low bits first.
_PACKED: dict[int, tuple[np.dtype[Any], int]] = {
    TensorProto.UINT4: (np.dtype(ml_dtypes.uint4), 4),
    TensorProto.INT4: (np.dtype(ml_dtypes.int4), 4),
    TensorProto.FLOAT4E2M1: (np.dtype(ml_dtypes.float4_e2m1fn), 4),
    TensorProto.UINT2: (np.dtype(ml_dtypes.uint2), 2),
    TensorProto.INT2: (np.dtype(ml_dtypes.int2), 2),
}
_SIGNED = {TensorProto.INT4, TensorProto.INT2}

# Hot path: arrays of these go to the core as they are.
_DIRECT = {dtype: code for code, dtype in _NATIVE.items() if code != TensorProto.STRING}

_DTYPES = _NATIVE | _EXTENDED | {code: dtype for code, (dtype, _) in _PACKED.items()}
_ELEM_TYPES = {dtype: code for code, dtype in _DTYPES.items()}


def dtype_of(elem_type: int) -> np.dtype[Any]:
    """Numpy dtype of an ONNX element type; ValueError if there is none."""
    try:
        return _DTYPES[elem_type]
    except KeyError:
        raise ValueError(f"{elem_type} is not an ONNX element type") from None


def elem_type_of(dtype: npt.DTypeLike) -> int:
    """ONNX element type of a numpy dtype; ValueError if there is none."""
    exact = np.dtype(dtype)
    if exact.kind in "USOT":
        return int(TensorProto.STRING)
    try:
        return _ELEM_TYPES[exact if exact.isnative else exact.newbyteorder("=")]
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
            return [from_value(item) for item in value.items()]
        case "map":
            keys, values = (from_value(item) for item in value.items())
            return dict(zip(keys.tolist(), values.tolist(), strict=True))
        case _:
            return None


def _sequence(data: list[Any] | tuple[Any, ...], elem_type: int | None) -> Value:
    items = [to_value(item, elem_type) for item in data]
    present = [item for item in items if item is not None]
    if len(present) != len(items):
        raise ValueError("a sequence of tensors cannot hold None")
    return Value.sequence(present, elem_type or int(TensorProto.FLOAT))


def _tensor(array: npt.NDArray[Any], elem_type: int) -> Value:
    wanted = dtype_of(elem_type)
    if elem_type == TensorProto.STRING:
        return Value.from_numpy(_objects(array), elem_type)
    if not array.dtype.isnative:
        raise ValueError(f"{array.dtype.str} is not in this machine's byte order")
    if array.dtype != wanted:
        raise ValueError(f"expected elements of {wanted}, got {array.dtype}")
    if elem_type in _PACKED:
        return Value.from_packed(_pack(array, _PACKED[elem_type][1]), elem_type, array.shape)
    if elem_type in _EXTENDED:
        bits = np.ascontiguousarray(array).view(f"u{wanted.itemsize}").reshape(array.shape)
        return Value.from_numpy(bits, elem_type)
    return Value.from_numpy(array, elem_type)


def _objects(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind not in "USOT":
        raise ValueError(f"expected strings, got {array.dtype}")
    return array.astype(np.object_)


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
