"""A model as it came, made ready for the cache: weights in one file, constants lifted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import onnx

from surplus.engine.dfg.constants import external_place, tensors_of_model
from surplus.engine.dfg.inline_sizes import may_be_sizes

_CHUNK_BYTES = 1 << 24
_ALIGNMENT_BYTES = 4096

Place = tuple[str, int, int]
"""A file's name, and offset and length of a constant in it."""


Known = Callable[[str, Iterable[bytes]], Place | None]
"""Where a constant of that name and content, in chunks, lies already."""


def _nowhere(_: str, __: Iterable[bytes]) -> Place | None:
    return None


def store_plain(
    model: onnx.ModelProto,
    source_folder: Path,
    weights: Path,
    min_bytes: int,
    known: Known = _nowhere,
) -> onnx.ModelProto:
    """Copy ``model``, with its large constants moved to ``weights``.

    Parameters
    ----------
    source_folder : Path
        Where the model's external data lies now.
    min_bytes : int
        Constants below this size stay inside.
    known : callable, optional
        Of files beside ``weights``.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    _lift_constants(copy.graph)
    with weights.open("wb") as target:
        outside = [t for t in tensors_of_model(copy) if external_place(t) is not None]
        inside = [t for t in copy.graph.initializer if len(t.raw_data) >= min_bytes]
        inside = [t for t in inside if not may_be_sizes(t.data_type, len(t.raw_data))]
        for tensor in outside:
            _move_outside(tensor, source_folder, target, weights.name, known)
        for tensor in inside:
            content = tensor.raw_data
            place = known(tensor.name, [content])
            _refer(tensor, place or (weights.name, _append(target, content), len(content)))
    return copy


def _lift_constants(graph: onnx.GraphProto) -> None:
    """Turn Constant nodes into initializers, as ONNX Runtime does when it loads a model."""
    kept = []
    for node in graph.node:
        value = node.attribute[0] if len(node.attribute) == 1 else None
        if node.op_type == "Constant" and value is not None and value.name == "value":
            tensor = graph.initializer.add()
            tensor.CopyFrom(value.t)
            tensor.name = node.output[0]
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)


def _move_outside(
    tensor: onnx.TensorProto, folder: Path, target: BinaryIO, name: str, known: Known
) -> None:
    place = external_place(tensor)
    assert place is not None
    location, offset, length = place
    with (folder / location).open("rb") as stream:
        found = known(tensor.name, _chunks(stream, offset, length))
        if found is None:
            start, total = _append(target, b""), 0
            for chunk in _chunks(stream, offset, length):
                total += target.write(chunk)
            found = name, start, total
    _refer(tensor, found)


def _chunks(stream: BinaryIO, offset: int, length: int | None) -> Iterator[bytes]:
    stream.seek(offset)
    left = length
    while left is None or left > 0:
        chunk = stream.read(_CHUNK_BYTES if left is None else min(_CHUNK_BYTES, left))
        if not chunk:
            return
        left = None if left is None else left - len(chunk)
        yield chunk


def _append(target: BinaryIO, data: bytes) -> int:
    """Write at the next page boundary, so that the tensor can be mapped; returns the offset."""
    target.write(b"\0" * (-target.tell() % _ALIGNMENT_BYTES))
    start = target.tell()
    target.write(data)
    return start


def _refer(tensor: onnx.TensorProto, place: Place) -> None:
    location, offset, length = place
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
