"""Tensors between the wire and numpy. Raw contents are never looped over in Python, save BYTES."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import Datatype, datatype_named
from surplus.engine.serving.memory_share import MemoryShare
from surplus.engine.serving.servable import Array
from surplus.engine.serving.value_costs import strings_bytes
from surplus.engine.shapes import element_count

Buffer = bytes | memoryview
_LENGTH = struct.Struct("<I")


def decode_raw(
    name: str,
    datatype: str,
    shape: Sequence[int],
    data: Buffer,
    share: MemoryShare | None = None,
) -> Array:
    """View the little-endian bytes of a tensor as an array.

    Shares memory with ``data``, hence read-only; copies only where ``data`` is not aligned for
    the element type.

    Parameters
    ----------
    share : MemoryShare, optional
        Counts strings before they are made; a copy is within what a request's bytes count for.

    Raises
    ------
    InputError
        If the datatype is unknown, or the bytes do not fit datatype and shape.
    MemoryLimitError
        If the server has no room for the strings.
    """
    kind = datatype_named(datatype, name)
    count = element_count(name, shape)
    if kind.name == "BYTES":
        _check_string_count(name, count, data)
        if share is not None:
            share.take(strings_bytes(count, len(data)), f"input {name!r}")
        return _reshape(name, _decode_strings(name, count, data), shape)
    expected_bytes = count * kind.dtype.itemsize
    if len(data) != expected_bytes:
        raise InputError(
            f"input {name!r}: {datatype} of shape {list(shape)} takes {expected_bytes} bytes, "
            f"got {len(data)}"
        )
    array = np.frombuffer(data, kind.dtype) if data else np.empty(0, kind.dtype)
    if kind.name == "BOOL":
        _check_bools(name, array)
    return _reshape(name, array if array.flags.aligned else array.copy(), shape)


def decode_typed(name: str, datatype: str, shape: Sequence[int], contents: Any) -> Array:
    """Make an array of an ``InferTensorContents`` message.

    Raises
    ------
    InputError
        If the datatype is unknown or travels raw only, the values lie in another field, are too
        many or too few, or exceed the datatype's range.
    """
    kind = datatype_named(datatype, name)
    count = element_count(name, shape)
    if kind.contents_field is None:
        raise InputError(f"input {name!r}: {datatype} has no typed contents, send it raw")
    _check_only_field(name, kind, contents)
    values = getattr(contents, kind.contents_field)
    if len(values) != count:
        raise InputError(
            f"input {name!r}: shape {list(shape)} takes {count} values in "
            f"{kind.contents_field}, got {len(values)}"
        )
    array = np.fromiter(values, kind.contents_dtype, count)
    return _reshape(name, _narrow(name, kind, array), shape)


def encode_raw(array: Array) -> bytes | Array:
    """Bytes of a tensor, little-endian and row-major, as an object with the buffer protocol.

    No copy is made of a C-contiguous numeric array: the result is a view of it.
    """
    if array.dtype.kind in "OSU":
        return _encode_strings(array)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _reshape(name: str, array: Array, shape: Sequence[int]) -> Array:
    try:
        return array.reshape(tuple(shape))
    except ValueError as error:  # a size that overflows beside a zero
        raise InputError(f"input {name!r}: shape of rank {len(shape)}: {error}") from None


def _check_bools(name: str, array: Array) -> None:
    if array.size and array.view(np.uint8).max() > 1:
        raise InputError(f"input {name!r}: BOOL takes bytes of 0 or 1")


def _check_only_field(name: str, kind: Datatype, contents: Any) -> None:
    for field, _ in contents.ListFields():
        if field.name != kind.contents_field:
            raise InputError(
                f"input {name!r}: {kind.name} takes {kind.contents_field}, got {field.name}"
            )


def _narrow(name: str, kind: Datatype, array: Array) -> Array:
    if kind.dtype == kind.contents_dtype:
        return array
    bounds = np.iinfo(kind.dtype)
    if array.size and (array.min() < bounds.min or array.max() > bounds.max):
        raise InputError(
            f"input {name!r}: {kind.name} holds {bounds.min} to {bounds.max}, "
            f"got {array.min()} to {array.max()}"
        )
    return array.astype(kind.dtype)


def _check_string_count(name: str, count: int, data: Buffer) -> None:
    if count * 4 > len(data):
        raise InputError(f"input {name!r}: {len(data)} bytes are too few for {count} strings")


def _decode_strings(name: str, count: int, data: Buffer) -> Array:
    """Strings, each after its length as a 32-bit little-endian number."""
    strings = np.empty(count, np.object_)
    position = 0
    for index in range(count):
        start = position + 4
        if start > len(data):
            raise InputError(f"input {name!r}: the data end before string {index} of {count}")
        position = start + _LENGTH.unpack_from(data, position)[0]
        if position > len(data):
            raise InputError(f"input {name!r}: the data end within string {index} of {count}")
        strings[index] = bytes(data[start:position])
    if position != len(data):
        raise InputError(
            f"input {name!r}: {len(data) - position} bytes left over after {count} strings"
        )
    return strings


def _encode_strings(array: Array) -> bytes:
    encoded_all = bytearray()  # and no list of parts: that of empty strings takes 60 bytes for 4
    for value in array.flat:
        # The core hands on bytes that are no UTF-8 as single surrogates.
        is_text = isinstance(value, str)
        encoded = value.encode(errors="surrogateescape") if is_text else bytes(value)
        encoded_all += _LENGTH.pack(len(encoded))
        encoded_all += encoded
    return bytes(encoded_all)
