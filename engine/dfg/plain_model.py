"""A model as it came, made ready for the cache: weights in one file, constants lifted.

Used where ONNX Runtime loads a model but cannot save its optimised form.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import onnx

from surplus.engine.dfg.constants import external_place, tensors_of_model

_CHUNK_BYTES = 1 << 24
_ALIGNMENT_BYTES = 4096


def store_plain(
    model: onnx.ModelProto, source_folder: Path, weights: Path, min_bytes: int
) -> onnx.ModelProto:
    """Copy ``model``, with its large constants moved to ``weights``.

    Parameters
    ----------
    source_folder : Path
        Where the model's external data lies now.
    min_bytes : int
        Constants below this size stay inside.

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
        for tensor in outside:
            _move_outside(tensor, source_folder, target, weights.name)
        for tensor in inside:
            _refer(tensor, weights.name, _append(target, tensor.raw_data), len(tensor.raw_data))
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


def _move_outside(tensor: onnx.TensorProto, folder: Path, target: BinaryIO, name: str) -> None:
    place = external_place(tensor)
    assert place is not None
    location, offset, length = place
    with (folder / location).open("rb") as stream:
        stream.seek(offset)
        start, total = _append(target, b""), 0
        while length is None or total < length:
            want = _CHUNK_BYTES if length is None else min(_CHUNK_BYTES, length - total)
            chunk = stream.read(want)
            if not chunk:
                break
            target.write(chunk)
            total += len(chunk)
    _refer(tensor, name, start, total)


def _append(target: BinaryIO, data: bytes) -> int:
    """Write at the next page boundary, so that the tensor can be mapped; returns the offset."""
    target.write(b"\0" * (-target.tell() % _ALIGNMENT_BYTES))
    start = target.tell()
    target.write(data)
    return start


def _refer(tensor: onnx.TensorProto, location: str, offset: int, length: int) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
