"""The file that a session is opened from: as given, or written for bytes and for what is changed.

Plans are kept by content, so a model that comes as bytes has its plan at the next start, too.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.dropin.asked_session import AskedSession
from surplus.engine.dropin.ort_value import content_of
from surplus.engine.dropin.statuses import (
    InvalidArgument,
    InvalidProtobuf,
    NoSuchFile,
    NotImplemented,
    status,
)
from surplus.engine.errors import ModelError
from surplus.engine.store.kept_file import FOLDER, ORT_MAGIC, kept_file
from surplus.engine.utf8_path import utf8_path

if TYPE_CHECKING:
    import onnx

_log = logging.getLogger(__name__)

_EXTERNAL = b"\n\x08location"
"""How the key of a tensor's external data is written in a protobuf."""

_MOST_BYTES = 2**31 - 1
"""Of a protobuf."""


def given_file(model: str | os.PathLike[str] | bytes, asked: AskedSession, cache: Path) -> Path:
    """The path to open.

    Parameters
    ----------
    model : path or bytes
        ONNX, or ONNX Runtime's own format.
    cache : Path
        Where files of the engine's own are kept.

    Raises
    ------
    TypeError
        If it is neither.
    NoSuchFile, InvalidArgument, InvalidProtobuf
        As ONNX Runtime.
    NotImplemented
        If a model is to be changed that is too large or of ONNX Runtime's own format.
    """
    if isinstance(model, bytes):
        return _of_bytes(model, asked, cache)
    if not isinstance(model, str | os.PathLike):
        raise TypeError(f"Unable to load from type '{type(model)}'")
    try:
        path = utf8_path(os.fspath(model))
    except ModelError as error:
        raise status(InvalidArgument, f"Load model failed: {error}") from None
    if path.is_dir():
        text = f"Load model from {model} failed:Protobuf parsing failed: it is a directory."
        raise status(InvalidProtobuf, text)
    if not path.exists():
        text = f"Load model from {model} failed:Load model {model} failed. File doesn't exist"
        raise status(NoSuchFile, text)
    if not asked.rewrites:
        return path
    return kept_file(_changed(path.read_bytes(), asked, path.parent), cache)


def is_written(path: Path) -> bool:
    """Whether a file is not the program's own."""
    return path.parent.name == FOLDER


def is_ort_format(path: Path) -> bool:
    """Whether a file is of ONNX Runtime's own format."""
    place, magic = ORT_MAGIC
    if not path.is_file():  # who opens it says what is wrong
        return False
    with path.open("rb") as file:
        return file.read(8)[place] == magic


def _of_bytes(data: bytes, asked: AskedSession, cache: Path) -> Path:
    if not data:
        raise status(InvalidArgument, "No graph was found in the protobuf.")
    if asked.rewrites or _EXTERNAL in data:
        data = _changed(data, asked, Path(asked.weights_folder or "."))
    return kept_file(data, cache)


def _changed(data: bytes, asked: AskedSession, folder: Path) -> bytes:
    """The model with its weights; open dimensions and initializers as they are asked for."""
    import onnx  # most programs give what is opened as it is
    from onnx.external_data_helper import load_external_data_for_model

    if data[ORT_MAGIC[0]] == ORT_MAGIC[1]:
        raise status(NotImplemented, "a model of ONNX Runtime's own format is opened as it is")
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's
        text = "Failed to load model because protobuf parsing failed."
        raise status(InvalidProtobuf, text) from error
    for name, value in asked.initializers.items():
        _replace(model.graph, name, content_of(value))
    _take_files(model, asked.files)
    load_external_data_for_model(model, str(folder))
    _fix_dimensions(model.graph, asked)
    if model.ByteSize() > _MOST_BYTES:
        raise status(NotImplemented, "a model above 2 GiB is opened as it lies in its file")
    return bytes(model.SerializeToString())


def _replace(graph: onnx.GraphProto, name: str, array: Any) -> None:
    from onnx import numpy_helper

    for tensor in graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(array, name))
            return
    _log.debug("the model has no initializer %r: what was given for it is not read", name)


def _take_files(model: onnx.ModelProto, files: Mapping[str, bytes]) -> None:
    """External data that are given in memory.

    Raises
    ------
    InvalidArgument
        If a file is shorter than a tensor says.
    """
    if not files:
        return
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    for tensor in model.graph.initializer:
        info = ExternalDataInfo(tensor) if uses_external_data(tensor) else None
        if info is None or info.location not in files:
            continue
        begin, whole = info.offset or 0, files[info.location]
        end = len(whole) if info.length is None else begin + info.length
        if end > len(whole):
            text = f"{info.location} has {len(whole)} bytes, {tensor.name!r} ends at {end}"
            raise status(InvalidArgument, text)
        tensor.raw_data = whole[begin:end]
        tensor.ClearField("external_data")
        tensor.data_location = tensor.DEFAULT


def _fix_dimensions(graph: onnx.GraphProto, asked: AskedSession) -> None:
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim:
            size = asked.free_by_name.get(dim.dim_param) if dim.dim_param else None
            if size is None and dim.denotation and not dim.HasField("dim_value"):
                size = asked.free_by_denotation.get(dim.denotation)
            if size is not None:
                dim.dim_value = size
