"""A perceptron's arrays, and a file format for them: numpy alone."""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_DAMAGED = (
    *(ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, MemoryError),
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What a reader of archives, arrays or JSON raises on bytes that are none."""


@dataclass(frozen=True)
class Perceptron:
    """Layers with rectified hidden values, and one output.

    Parameters
    ----------
    weights : tuple of array, (inputs, outputs)
        By layer; one layer alone is a linear model.
    biases : tuple of array, (outputs,)

    Raises
    ------
    ValueError
        If the shapes do not fit each other, or a number is not finite.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def __post_init__(self) -> None:
        if not self.weights or self.weights[-1].shape[-1:] != (1,):
            raise ValueError("a perceptron needs layers, the last one with one output")
        inputs = self.inputs
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if weight.ndim != 2 or weight.shape[0] != inputs or bias.shape != weight.shape[1:]:
                raise ValueError(f"a layer of shapes {weight.shape} and {bias.shape}")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise ValueError("weights must be finite")
            inputs = weight.shape[1]

    @property
    def inputs(self) -> int:
        """Length of a row."""
        return int(self.weights[0].shape[0])

    def __call__(self, rows: Array) -> Array:
        """Outputs of rows ``(rows, inputs)``; array ``(rows,)``."""
        values = rows
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = values @ weight
            values += bias
            if layer < last:
                np.maximum(values, 0.0, out=values)
        return values[:, 0]

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        """Its arrays by name, for a file."""
        named = {f"{prefix}weight{k}": weight for k, weight in enumerate(self.weights)}
        return named | {f"{prefix}bias{k}": bias for k, bias in enumerate(self.biases)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], prefix: str = "") -> Perceptron:
        """Find its arrays among those of a file; the opposite of ``arrays``."""
        layers = range(sum(name.startswith(f"{prefix}weight") for name in arrays))
        return cls(
            tuple(arrays[f"{prefix}weight{k}"] for k in layers),
            tuple(arrays[f"{prefix}bias{k}"] for k in layers),
        )


def pack(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Make a small file: JSON and arrays in single precision; the same bytes for the same."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    single = {name: array.astype(np.float32) for name, array in arrays.items()}
    np.savez_compressed(buffer, allow_pickle=False, about=text, **single)
    return buffer.getvalue()


def unpack(path: Path, file_format: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read what ``pack`` made, with ``file_format`` under "format" of its JSON.

    Raises
    ------
    ValueError
        If the file is something else, or damaged.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as found:
                about = json.loads(bytes(found["about"]))
                names = [name for name in found.files if name != "about"]
                arrays = {name: _finite(name, found[name]) for name in names}
        except _DAMAGED as error:
            raise ValueError(f"{path}: not a {file_format} file ({error})") from error
    if not isinstance(about, dict) or about.get("format") != file_format:
        raise ValueError(f"{path}: not a {file_format} file")
    return about, arrays


def _finite(name: str, array: npt.NDArray[Any]) -> Array:
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"{name!r} must be finite numbers")
    return array.astype(np.float64)
