"""How much memory values take that cost more than their bytes, found out before they are made.

Bounds, measured on CPython 3.11 to 3.13 and protobuf's upb.
"""

from __future__ import annotations

from surplus.engine.serving.servable import Array

PARSED_PER_BYTE = 32
"""Of a protobuf message: a field of two bytes, empty, may become a message of 64 in memory."""

STRING_BYTES = 128
"""Of each string of a tensor beside its content: an object in an array, its likes in the core."""

_ITEM_BYTES = 40
_CONTAINER_BYTES = 72
_TEXT_BYTES = 64
_COPIES = 3
"""Of a document: as it came, as text, and the numbers that are made of it."""

_NUMBER_BYTES = 112
"""Of a number of an answer in JSON: widened, and its text three times over."""
_READ_BYTES = 24
"""Of a number that the core reads: itself, converted, and what is asked of it."""

_SMALL_BYTES = 4096
"""So little costs less than to look at it closely."""
_SMALL_PER_BYTE = 32


def strings_bytes(count: int, content_bytes: int) -> int:
    """What a tensor of so many strings takes at most until its answer is made."""
    return count * STRING_BYTES + _COPIES * content_bytes


def document_bytes(text: bytes | bytearray | memoryview) -> int:
    """What a JSON document takes at most, once parsed and made into arrays.

    Every value but the first stands behind a comma or a bracket, every text between two quotation
    marks; more of them within texts cost nothing, and count all the same. About a millisecond for
    each MB.
    """
    if len(text) <= _SMALL_BYTES:
        return len(text) * _SMALL_PER_BYTE
    whole = bytes(text) if isinstance(text, memoryview) else text
    containers = whole.count(b"[") + whole.count(b"{")
    items = whole.count(b",") + containers
    return (
        _COPIES * len(whole)
        + _ITEM_BYTES * items
        + _CONTAINER_BYTES * containers
        + _TEXT_BYTES * whole.count(b'"')
    )


def numbers_bytes(text: bytes) -> int:
    """What the numbers of a JSON document take at most that are read without objects."""
    return len(text) + _READ_BYTES * text.count(b",")


def answer_bytes(array: Array, *, as_text: bool) -> int:
    """What an answer takes beyond the output itself, until it is written.

    Parameters
    ----------
    as_text : bool
        Whether it becomes JSON.
    """
    if array.dtype.kind in "OSU":
        content = sum(map(len, array.reshape(-1).tolist()))
        return strings_bytes(array.size, content)
    return array.size * _NUMBER_BYTES if as_text else 2 * array.nbytes
