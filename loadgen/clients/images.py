"""Pictures as inputs: read, resized to what the model takes, laid out and scaled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clients.tensors import NUMPY_TYPES, RawTensor, from_array
from surplus.loadgen.errors import PayloadError

if TYPE_CHECKING:
    from PIL.Image import Image

LAYOUTS = ("auto", "nchw", "nhwc")
_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".tif", ".tiff"})
_MODES = {1: "L", 3: "RGB"}
_IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)

Scaling = Callable[[NDArray[np.float32]], NDArray[np.float32]]

SCALINGS: dict[str, Scaling] = {
    "none": lambda pixels: pixels,
    "unit": lambda pixels: pixels / np.float32(255),
    "symmetric": lambda pixels: pixels / np.float32(127.5) - np.float32(1),
    "imagenet": lambda pixels: (pixels / np.float32(255) - _IMAGENET_MEAN) / _IMAGENET_STD,
}
"""From 0 to 255, as they are, to what a model was trained with; arrays ``(height, width, 3)``."""


@dataclass(frozen=True)
class ImageParams:
    """Pictures that queries take turns through.

    Parameters
    ----------
    paths : tuple of Path
        Files, and folders of them.
    scaling : str
        One of ``SCALINGS``.
    input : str
        Of the model; empty: the only one that can be a picture.
    layout : str
        ``nchw``, ``nhwc``, or ``auto``: by where the model has 3 channels, or 1.
    """

    paths: tuple[Path, ...]
    scaling: str = "unit"
    input: str = ""
    layout: str = "auto"

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.scaling, SCALINGS, "scaling"),
            (self.layout, LAYOUTS, "layout"),
        ):
            if value not in known:
                raise PayloadError(f"unknown {what} {value!r}; there are: {', '.join(known)}")


@dataclass(frozen=True)
class _Frame:
    """What an input takes."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    is_channels_first: bool

    @property
    def sides(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        *_, a, b, c = self.shape
        return (a, b, c) if self.is_channels_first else (c, a, b)


def image_tensors(
    params: ImageParams, inputs: Sequence[tuple[str, str, tuple[int, ...]]]
) -> list[RawTensor]:
    """A tensor for each picture.

    Parameters
    ----------
    params : ImageParams
    inputs : sequence of (name, datatype, shape)
        Of the model; -1 for an open dimension, which is 1 where it is the batch's.

    Raises
    ------
    PayloadError
        If Pillow is not installed, a file is no picture, or no input takes one.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise PayloadError("pictures need Pillow (pip install pillow)") from None
    frame = _frame(params, inputs)
    tensors = []
    for file in _files(params.paths):
        try:
            with Image.open(file) as image:
                tensors.append(_tensor(image, frame, SCALINGS[params.scaling]))
        except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
            raise PayloadError(f"cannot read {file} as a picture: {error}") from error
    return tensors


def _tensor(image: Image, frame: _Frame, scaling: Scaling) -> RawTensor:
    channels, height, width = frame.sides
    resized = image.convert(_MODES[channels]).resize((width, height))
    pixels = np.asarray(resized, np.float32).reshape(height, width, channels)
    dtype = NUMPY_TYPES[frame.datatype]
    array = scaling(pixels).astype(dtype) if dtype.kind == "f" else pixels.astype(dtype)
    array = array.transpose(2, 0, 1) if frame.is_channels_first else array
    batch = int(np.prod(frame.shape[:-3]))
    return from_array(
        frame.name, np.broadcast_to(array, (batch, *array.shape)).reshape(frame.shape)
    )


def _frame(params: ImageParams, inputs: Sequence[tuple[str, str, tuple[int, ...]]]) -> _Frame:
    """Of the input that was named, or of the only one that fits."""
    named = [row for row in inputs if params.input in ("", row[0])]
    frames = [frame for row in named if (frame := _frame_of(row, params.layout)) is not None]
    if len(frames) == 1:
        return frames[0]
    shapes = "; ".join(f"{name} {datatype} {list(shape)}" for name, datatype, shape in inputs)
    if not frames:
        what = f"input {params.input!r}" if params.input else "the model"
        raise PayloadError(f"{what} takes no picture of 1 or 3 channels and a known size: {shapes}")
    raise PayloadError(f"several inputs may be a picture; name one with --image-input: {shapes}")


def _frame_of(row: tuple[str, str, tuple[int, ...]], layout: str) -> _Frame | None:
    name, datatype, shape = row
    if len(shape) not in (3, 4) or datatype not in NUMPY_TYPES or datatype == "BOOL":
        return None
    full = tuple(
        1 if place < len(shape) - 3 and side < 0 else side for place, side in enumerate(shape)
    )
    for is_first, name_of in ((True, "nchw"), (False, "nhwc")):
        channels = full[-3] if is_first else full[-1]
        if layout in ("auto", name_of) and channels in _MODES and min(full) > 0:
            return _Frame(name, datatype, full, is_first)
    return None


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
        if not inside:
            raise PayloadError(f"no pictures in {path}")
        found += inside
    return found
