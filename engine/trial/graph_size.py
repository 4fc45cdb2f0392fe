"""How large a graph is and whether it quantises, by a file's text: parsers are not imported yet."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

_GRAPH, _FUNCTION = 7, 25
_NODE, _INITIALIZER = 1, 5
"""onnx.proto's numbers of these fields."""

_LONGEST_BITS = 70
"""Of a number in protobuf, in steps of 7."""

_FIXED_BYTES = {1: 8, 5: 4}
"""By wire type."""

_MOST_FIELDS = 1_000_000
"""Looked at: a quarter of a second. Files of more are hostile or have large graphs anyway."""

_QUANTISES = b"QuantizeLinear"
"""As an operator's name, or at its end."""

_LOOKED_AT_BYTES = 16 << 20
"""Of a node or function: what is larger holds weights behind its operator's name."""

_Field = tuple[int, int, int]
"""Number, begin and end."""


@dataclass(frozen=True)
class GraphSize:
    """Of the model's graph; bodies of control flow aside."""

    nodes: int = 0
    constants: int = 0
    is_quantised: bool = False
    """Whether a node, a body in it or a function quantises."""


def graph_size(path: Path) -> GraphSize:
    """What stands in a file before what is no protobuf; nothing in one that cannot be read."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _size(data)
    except (OSError, ValueError):  # missing, or empty; whoever opens it says so
        return GraphSize()


def _size(data: mmap.mmap) -> GraphSize:
    nodes = constants = 0
    quantised = False
    for number, begin, end in _parts(data):
        nodes += number == _NODE
        constants += number == _INITIALIZER
        if not quantised and number in (_NODE, _FUNCTION):
            quantised = _QUANTISES in data[begin : min(end, begin + _LOOKED_AT_BYTES)]
    return GraphSize(nodes, constants, quantised)


def _parts(data: mmap.mmap) -> Iterator[_Field]:
    """The fields of graphs, and functions."""
    found = (
        field
        for number, *span in islice(_fields(data, 0, len(data)), _MOST_FIELDS)
        for field in _within(data, number, *span)
    )
    return islice(found, _MOST_FIELDS)


def _within(data: mmap.mmap, number: int, begin: int, end: int) -> Iterator[_Field]:
    if number == _GRAPH:
        yield from _fields(data, begin, end)
    elif number == _FUNCTION:
        yield number, begin, end


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[_Field]:
    end = min(end, len(data))
    try:
        while at < end:
            tag, at = _varint(data, at)
            wire = tag & 7
            if wire == 0:
                size, at = 0, _varint(data, at)[1]
            elif wire == 2:
                size, at = _varint(data, at)
            else:
                size = _FIXED_BYTES[wire]
            yield tag >> 3, at, at + size
            at += size
    except (IndexError, KeyError):  # cut short, or no protobuf
        return


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = 0
    for shift in range(0, _LONGEST_BITS, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError
