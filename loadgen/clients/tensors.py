"""Tensors of the protocol: datatypes, raw bytes, made-up values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.errors import PayloadError

NUMPY_TYPES = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype("<u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "INT8": np.dtype("<i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}
"""What numpy has of them."""

DATATYPES = (*NUMPY_TYPES, "BF16", "BYTES")

Answer = Mapping[str, NDArray[np.generic]]
"""Arrays by output name, in the model's order."""

_TEXT_BYTES = 8


@dataclass(frozen=True)
class RawTensor:
    """An input as it goes over the wire: row-major, little-endian."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    raw: bytes


def from_array(name: str, array: NDArray[np.generic]) -> RawTensor:
    """Serialise an array; strings and bytes become BYTES.

    Raises
    ------
    PayloadError
        If its dtype has no counterpart in the protocol.
    """
    if array.dtype.kind in "SUO":
        return RawTensor(name, "BYTES", array.shape, _pack(array))
    for datatype, dtype in NUMPY_TYPES.items():
        if array.dtype == dtype:
            return RawTensor(name, datatype, array.shape, array.astype(dtype).tobytes())
    raise PayloadError(f"input {name!r}: dtype {array.dtype} is not one of the protocol")


def to_array(tensor: RawTensor) -> NDArray[np.generic]:
    """The array of a tensor, for models in this process and for answers.

    Raises
    ------
    PayloadError
        If numpy has no such type.
    """
    if tensor.datatype == "BYTES":
        return _unpack(tensor.raw).reshape(tensor.shape)
    if tensor.datatype not in NUMPY_TYPES:
        raise PayloadError(f"tensor {tensor.name!r}: numpy has no {tensor.datatype}")
    return np.frombuffer(tensor.raw, NUMPY_TYPES[tensor.datatype]).reshape(tensor.shape)


def zeros(name: str, datatype: str, shape: tuple[int, ...]) -> RawTensor:
    """Zeros, or empty strings."""
    count = int(np.prod(shape, dtype=np.int64))
    return RawTensor(name, datatype, shape, bytes(count * _item_bytes(datatype)))


def random(
    name: str, datatype: str, shape: tuple[int, ...], generator: np.random.Generator
) -> RawTensor:
    """Random values: reals in [0, 1), integers 0 or 1 (valid as an index), short strings."""
    return RawTensor(name, datatype, shape, _random_raw(datatype, shape, generator))


FILLS: dict[str, Callable[[str, str, tuple[int, ...], np.random.Generator], RawTensor]] = {
    "random": random,
    "zeros": lambda name, datatype, shape, _: zeros(name, datatype, shape),
}


def _random_raw(datatype: str, shape: tuple[int, ...], generator: np.random.Generator) -> bytes:
    if datatype == "BYTES":
        letters = generator.integers(97, 123, (*shape, _TEXT_BYTES), dtype=np.uint8)
        return _pack(letters.view(f"S{_TEXT_BYTES}")[..., 0])
    if datatype == "BF16":
        # A bfloat16 is the upper half of a float32.
        single = generator.random(shape, dtype=np.float32).view(np.uint32)
        return (single >> 16).astype("<u2").tobytes()
    dtype = NUMPY_TYPES[datatype]
    if dtype.kind == "f":
        # Half precision would round values just below 1 up to it.
        return (generator.random(shape) * (1 - 2**-11)).astype(dtype).tobytes()
    return generator.integers(0, 2, shape).astype(dtype).tobytes()


def _item_bytes(datatype: str) -> int:
    if datatype in ("BF16", "BYTES"):
        return 2 if datatype == "BF16" else 4
    return NUMPY_TYPES[datatype].itemsize


def _unpack(raw: bytes) -> NDArray[np.generic]:
    items, at = [], 0
    while at < len(raw):
        end = at + 4 + int.from_bytes(raw[at : at + 4], "little")
        items.append(raw[at + 4 : end].decode(errors="replace"))
        at = end
    return np.array(items, object)


def _pack(array: NDArray[np.generic]) -> bytes:
    parts = []
    for item in array.ravel().tolist():
        text = item if isinstance(item, bytes) else str(item).encode()
        parts.append(len(text).to_bytes(4, "little") + text)
    return b"".join(parts)
