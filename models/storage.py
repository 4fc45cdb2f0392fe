"""Writes a model to disk, with its weights beside it where one file cannot hold them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx import StringStringEntryProto, TensorProto

INLINE_LIMIT_BYTES = 1_000_000_000
"""Above this the weights leave the file.

Protobuf itself ends at 2 GiB; long before, a file that must be parsed and copied as a whole costs
a reader several times its size, where one of weights alone is mapped.
"""

_PAGE_BYTES = 4096
_SMALL_BYTES = 1024


def save(model: onnx.ModelProto, path: str | Path, *, external_data: bool | None = None) -> Path:
    """Write `model` to `path`, and its weights to ``<path>.data`` where they are external.

    Each file is written whole or not at all. The bytes depend on the model only, which is not
    changed.

    Parameters
    ----------
    model : onnx.ModelProto
        A model whose initializers carry their data.
    path : str or Path
        The file; its folder must exist.
    external_data : bool, optional
        Whether the weights go to their own file; by default if they are above 1 GB.

    Returns
    -------
    Path
        `path`.
    """
    path = Path(path)
    if external_data is None:
        external_data = weight_bytes(model) > INLINE_LIMIT_BYTES
    if external_data:
        model = _with_external_weights(model, path.with_name(path.name + ".data"))
    with _whole(path) as file:
        file.write(model.SerializeToString(deterministic=True))
    return path


def weight_bytes(model: onnx.ModelProto) -> int:
    """Return the bytes of all initializers."""
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when it is complete; a full disk leaves the old one, if any."""
    part = path.with_name(f".{path.name}-{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _with_external_weights(model: onnx.ModelProto, data_path: Path) -> onnx.ModelProto:
    slim = onnx.ModelProto(
        ir_version=model.ir_version,
        producer_name=model.producer_name,
        doc_string=model.doc_string,
        opset_import=model.opset_import,
    )
    graph = model.graph
    slim.graph.name = graph.name
    for field in ("node", "input", "output", "value_info"):
        getattr(slim.graph, field).extend(getattr(graph, field))
    with _whole(data_path) as file:
        slim.graph.initializer.extend(_moved(t, file, data_path.name) for t in graph.initializer)
    return slim


def _moved(tensor: onnx.TensorProto, file: BinaryIO, location: str) -> onnx.TensorProto:
    if len(tensor.raw_data) < _SMALL_BYTES:
        return tensor
    # Whole pages, so that a reader can map a weight as it lies.
    file.write(b"\0" * (-file.tell() % _PAGE_BYTES))
    where = {"location": location, "offset": file.tell(), "length": len(tensor.raw_data)}
    file.write(tensor.raw_data)
    return TensorProto(
        name=tensor.name,
        data_type=tensor.data_type,
        dims=tensor.dims,
        data_location=TensorProto.EXTERNAL,
        external_data=[StringStringEntryProto(key=k, value=str(v)) for k, v in where.items()],
    )
