"""The user's ONNX file: parsed without its external data, and hashed with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from surplus.engine.dfg.constants import external_place, tensors_of_model
from surplus.engine.dfg.file_hashes import FileHashes
from surplus.engine.dfg.source_hash import external_file, hash_of
from surplus.engine.errors import ModelError


def parse(path: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> onnx.ModelProto:
    """Read the protobuf; weights in other files stay there.

    Parameters
    ----------
    read : callable
        How to read the file; ``read_sealed`` for one of the cache.

    Raises
    ------
    ModelError
        If the file cannot be read, is no ONNX model, or has no graph.
    """
    try:
        model = onnx.ModelProto.FromString(read(path))
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from error
    except (DecodeError, ValueError, MemoryError) as error:
        raise ModelError(
            f"{path}: not an ONNX model, or a truncated one (the protobuf cannot be decoded; past"
            " 2 GB weights must be external data)"
        ) from error
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError(f"{path}: not an ONNX model (it has no graph or no IR version)")
    return model


def external_names(model: onnx.ModelProto, path: Path) -> list[str]:
    """Files that hold the model's external data, relative to its folder, sorted.

    Raises
    ------
    ModelError
        If an entry cannot be read.
    """
    names = set()
    for tensor in tensors_of_model(model):
        try:
            place = external_place(tensor)
        except ValueError as error:
            raise ModelError(f"{path}: external data of {tensor.name!r}: {error}") from error
        if place is not None:
            names.add(place[0])
    return sorted(names)


def external_files(model: onnx.ModelProto, path: Path) -> list[Path]:
    """Files that hold the model's external data, sorted.

    Raises
    ------
    ModelError
        If one lies outside the model's folder or does not exist.
    """
    return [external_file(name, path) for name in external_names(model, path)]


def source_hash(model: onnx.ModelProto, path: Path, memo: FileHashes) -> str:
    """SHA-256 over the file and its external data, in hex.

    Raises
    ------
    ModelError
        If a file cannot be read.
    """
    return hash_of(path, external_files(model, path), memo)


def remember_source(model: onnx.ModelProto, path: Path, memo: FileHashes) -> None:
    """Note what ``known_source_hash`` needs, of a model that could be used."""
    try:
        memo.remember_parts(memo.digest(path), external_names(model, path))
    except OSError:
        return
