"""How large a model's graph is, by its file's text: what parses it is not imported yet."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

_GRAPH = 7
_NODE, _INITIALIZER = 1, 5
"""onnx.proto's numbers of these fields."""

_LONGEST_BITS = 70
"""Of a number in protobuf, in steps of 7."""

_FIXED_BYTES = {1: 8, 5: 4}
"""By wire type."""

_MOST_FIELDS = 1_000_000
"""Looked at: a quarter of a second. Files of more are hostile or have large graphs anyway."""

_Field = tuple[int, int, int]
"""Number, begin and end."""


@dataclass(frozen=True)
class GraphSize:
    """Of the model's graph; bodies of control flow aside."""

    nodes: int = 0
    constants: int = 0


def graph_size(path: Path) -> GraphSize:
    """What stands in a file before what is no protobuf; nothing in one that cannot be read."""
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            counts = Counter(number for number, _, _ in _graph_fields(data))
    except (OSError, ValueError):  # missing, or empty; whoever opens it says so
        return GraphSize()
    return GraphSize(nodes=counts[_NODE], constants=counts[_INITIALIZER])


def _graph_fields(data: mmap.mmap) -> Iterator[_Field]:
    models = islice(_fields(data, 0, len(data)), _MOST_FIELDS)
    fields = (f for number, *span in models if number == _GRAPH for f in _fields(data, *span))
    return islice(fields, _MOST_FIELDS)


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
