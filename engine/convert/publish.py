"""The files of a converted model: made aside, then moved into place together."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.external_data_helper import load_external_data_for_model

from surplus.engine.dfg.constants import external_place, tensors_of_model

Array = np.ndarray[Any, Any]

INLINE_LIMIT_BYTES = 1_500_000_000
"""Above this the weights get their own file; protobuf itself ends at 2 GiB."""

_CHUNK_BYTES = 1 << 24


def assemble(
    model: onnx.ModelProto,
    weights: Path,
    staged: Path,
    inline_limit_bytes: int = INLINE_LIMIT_BYTES,
) -> Path | None:
    """Write ``model`` to ``staged``, with its weights inside if they are small enough.

    Parameters
    ----------
    model : onnx.ModelProto
        Changed: its external data is all in ``weights``.
    weights : Path
        Moved beside ``staged`` if they stay outside. Their name tells their content, so that an
        older model of the same name stays whole until it is replaced.

    Returns
    -------
    Path or None
        The file of weights.
    """
    if weights.stat().st_size <= inline_limit_bytes:
        load_external_data_for_model(model, str(weights.parent))
        staged.write_bytes(model.SerializeToString(deterministic=True))
        return None
    data = staged.with_name(f"{staged.name}.{_digest(weights)[:12]}.data")
    weights.rename(data)
    for tensor in tensors_of_model(model):
        if external_place(tensor) is not None:
            entry = next(pair for pair in tensor.external_data if pair.key == "location")
            entry.value = data.name
    staged.write_bytes(model.SerializeToString(deterministic=True))
    return data


def save_inputs(inputs: Mapping[str, Array], path: Path) -> None:
    """An .npz file; unlike numpy's own writer, inputs may have any name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in inputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def publish(staged: Path, data: Path | None, inputs: Path | None, path: Path) -> None:
    """Move the files to where ``path`` says; a reader finds the old model or the new one.

    Parameters
    ----------
    inputs : Path or None
        Example inputs, for ``path`` with the suffix .npz; None leaves what is there.

    Raises
    ------
    OSError
        If a file cannot be replaced.
    """
    if data is not None:
        data.replace(path.with_name(data.name))
    beside = path.with_suffix(".npz")
    if inputs is not None:
        # Never the old inputs beside the new model.
        beside.unlink(missing_ok=True)
    staged.replace(path)
    if inputs is not None:
        inputs.replace(beside)
    _remove_old_data(path, data)


def _remove_old_data(path: Path, data: Path | None) -> None:
    ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{12}\.data")
    for file in path.parent.iterdir():
        if ours.fullmatch(file.name) and (data is None or file.name != data.name):
            file.unlink()


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
