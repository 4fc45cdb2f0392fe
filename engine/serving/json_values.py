"""Tensors as lists in JSON, for clients that do not send and take them as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surplus.engine import _core
from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import datatype_named
from surplus.engine.serving.servable import Array
from surplus.engine.shapes import element_count

_KINDS = {"b": "b", "u": "iu", "i": "iu", "O": "O"}
"""Kinds of numpy's arrays of JSON values that an element type takes; floats take any number."""

_NUMBERS = "iuf"


def decode_json(name: str, datatype: str, shape: Sequence[int], data: Any) -> Array:
    """Make an array of a list, nested as the shape says or flat, in row-major order.

    Parameters
    ----------
    data : object
        The list, or a flat array of its numbers.

    Raises
    ------
    InputError
        If the datatype is unknown, or the values do not fit datatype and shape.
    """
    dtype = datatype_named(datatype, name).dtype
    if not isinstance(data, list | np.ndarray):
        raise InputError(f"input {name!r}: data must be a list")
    count = element_count(name, shape)
    found = _values(name, datatype, data) if isinstance(data, list) else data
    if found.size != count:
        raise InputError(
            f"input {name!r}: shape {list(shape)} takes {count} values, got {found.size}"
        )
    if found.size and found.dtype.kind not in _KINDS.get(dtype.kind, _NUMBERS):
        raise InputError(f"input {name!r}: values are not all of {datatype}")
    try:
        return _converted(name, datatype, found, dtype).reshape(tuple(shape))
    except ValueError as error:  # a size that overflows beside a zero
        raise InputError(f"input {name!r}: shape of rank {len(shape)}: {error}") from None


def encode_json(name: str, array: Array) -> list[Any]:
    """The values of an output as a flat list, in row-major order.

    Raises
    ------
    InputError
        If JSON has no form for one of them; the client must ask for bytes.
    """
    if array.dtype.kind in "OSU":
        return [_text(name, value) for value in array.reshape(-1).tolist()]
    if array.dtype.kind not in "biu":
        array = _finite(name, array)
    values: list[Any] = array.reshape(-1).tolist()
    return values


def encode_numbers(name: str, array: Array) -> bytes | None:
    """The same as text, of numbers; None of what is none. Raises as :func:`encode_json`."""
    kind = array.dtype.kind
    if kind in "OSUb":
        return None
    if kind in "iu":
        wide = array.astype(np.uint64 if kind == "u" else np.int64)
    else:
        wide = _finite(name, array)
    return _core.json_of(np.ascontiguousarray(wide).reshape(-1))


def _finite(name: str, array: Array) -> Array:
    with np.errstate(invalid="ignore"):  # a signalling NaN is one all the same
        wide: Array = array.astype(np.float64)
    if not np.isfinite(wide).all():
        raise InputError(f"output {name!r}: JSON has no infinity or NaN, ask for binary_data")
    return wide


def _values(name: str, datatype: str, data: list[Any]) -> Array:
    try:
        if datatype == "UINT64":
            return _checked(
                data, lambda value: type(value) is int and 0 <= value < 2**64, np.uint64
            )
        if datatype == "BYTES":
            return _checked(data, lambda text: type(text) is str, np.object_)
        # Of text numpy would make each value as long as the longest: a MB of JSON takes GBs.
        return np.asarray(data, np.object_ if _holds_text(data) else None)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise InputError(f"input {name!r}: data is no list of {datatype} values") from None


def _holds_text(data: list[Any]) -> bool:
    kinds = set(map(type, data))
    if list in kinds:
        return str in kinds or any(_holds_text(part) for part in data if type(part) is list)
    return str in kinds


def _checked(data: list[Any], fits: Callable[[Any], bool], dtype: Any) -> Array:
    """Value by value, where numpy would change them.

    Numbers below and above 2 ** 63 together become floating point, zeros at the end of a string
    go, and numbers beside strings become strings.
    """
    plain = np.asarray(data, dtype=object)
    if not all(map(fits, plain.flat)):
        raise ValueError("not all fit")
    return plain.astype(dtype)


def _converted(name: str, datatype: str, found: Array, dtype: np.dtype[Any]) -> Array:
    flat = found.reshape(-1)
    if dtype.kind == "O":
        return _encoded(name, flat)
    if dtype.kind in "iu" and flat.size:
        bounds = np.iinfo(dtype)
        if flat.min() < bounds.min or flat.max() > bounds.max:
            raise InputError(f"input {name!r}: {datatype} holds {bounds.min} to {bounds.max}")
    with np.errstate(over="ignore"):
        converted: Array = flat.astype(dtype)
    if dtype.kind not in "biu" and (np.isfinite(flat) & ~np.isfinite(converted)).any():
        raise InputError(f"input {name!r}: a value is too large for {datatype}")
    return converted


def _encoded(name: str, flat: Array) -> Array:
    strings = np.empty(flat.size, np.object_)
    try:
        strings[:] = [text.encode() for text in flat.tolist()]
    except UnicodeEncodeError:
        raise InputError(f"input {name!r}: a string holds half of a surrogate pair") from None
    return strings


def _text(name: str, value: Any) -> str:
    try:
        if isinstance(value, str):
            value.encode()
            return value
        return bytes(value).decode()
    except UnicodeError:
        raise InputError(f"output {name!r}: a string is not UTF-8, ask for binary_data") from None
