"""The steps: decode, resize, detect, crop, classify; two are networks, the others what they need.

A photograph comes as JPEG. A light detector sees all of it, small, and the
classifier the box that the detector is surest of; its middle, where nothing is found, as the
weights are random.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.infrastructure.built_models import FOLDER, built

PHOTOGRAPHS = {"1920 x 1080": (1920, 1080), "640 x 480": (640, 480)}
"""Width and height: as a camera makes them, and as they often come to a server."""

_CELL = 40
"""Pixels between two colours, which gives a file of a photograph's size."""

_SEEN = 160
_CROPPED = 224

_OPSETS = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft.extensions" : 1]>'

_DECODE = f"""{_OPSETS}
decode (uint8[bytes] file) => (uint8[height, width, three] photo)
{{ photo = com.microsoft.extensions.DecodeImage(file) }}
"""

_RESIZE = f"""{_OPSETS}
resize (uint8[height, width, three] photo) => (float[1, 3, {_SEEN}, {_SEEN}] image)
<int64[4] size = {{1, 3, {_SEEN}, {_SEEN}}}, int64[1] first = {{0}}, float whole = {{255.0}}>
{{
  planes = Transpose<perm = [2, 0, 1]>(photo)
  batch = Unsqueeze(planes, first)
  small = Resize<mode = "linear">(batch, , , size)
  numbers = Cast<to = 1>(small)
  image = Div(numbers, whole)
}}
"""

_CROP = f"""{_OPSETS}
crop (uint8[height, width, three] photo, float[1, found, 4] boxes)
  => (float[1, 3, {_CROPPED}, {_CROPPED}] image)
<float[1, 1, 4] middle = {{0.25, 0.25, 0.75, 0.75}}, int64[1] none = {{0}}, int64[1] one = {{1}},
 int64[1] two = {{2}}, int64[1] four = {{4}}, int64[4] axes_of_one = {{0, 0, 0, 0}},
 int64[2] sides = {{1, 0}}, int64[2] at = {{0, 1}}, int64[1] flat = {{-1}}, float whole = {{255.0}},
 int64[4] size = {{1, 3, {_CROPPED}, {_CROPPED}}}>
{{
  some = Concat<axis = 1>(boxes, middle)
  surest = Slice(some, none, one, one)
  box = Reshape(surest, flat)
  shape = Shape<start = 0, end = 2>(photo)
  extent = Gather(shape, sides)
  extents = Cast<to = 1>(extent)
  low = Slice(box, none, two)
  high = Slice(box, two, four)
  low_at = Mul(low, extents)
  high_at = Mul(high, extents)
  low_pixel = Cast<to = 7>(low_at)
  high_pixel = Cast<to = 7>(high_at)
  last = Sub(extent, one)
  above = Max(low_pixel, none)
  start = Min(above, last)
  next = Add(start, one)
  end = Max(high_pixel, next)
  starts = Gather(start, sides)
  ends = Gather(end, sides)
  part = Slice(photo, starts, ends, at)
  planes = Transpose<perm = [2, 0, 1]>(part)
  batch = Unsqueeze(planes, none)
  small = Resize<mode = "linear">(batch, , , size)
  numbers = Cast<to = 1>(small)
  image = Div(numbers, whole)
}}
"""


@dataclass(frozen=True)
class PipelineStep:
    """A step of the pipeline.

    Parameters
    ----------
    file : Path
        Its ONNX file.
    reads, makes : mapping of str to str
        The ensemble's tensor of each of the model's inputs, and of the outputs that are used.
    """

    name: str
    file: Path
    reads: Mapping[str, str]
    makes: Mapping[str, str]


def all_steps() -> list[PipelineStep]:
    """In the order of their running."""
    return [
        PipelineStep("decode", _written("decode", _DECODE), {"file": "FILE"}, {"photo": "photo"}),
        PipelineStep("resize", _written("resize", _RESIZE), {"photo": "photo"}, {"image": "seen"}),
        PipelineStep(
            "detect",
            built("ssd_mobilenet_v1", image_size=_SEEN)[0],
            {"image": "seen"},
            {"boxes": "BOXES", "scores": "SCORES"},
        ),
        PipelineStep(
            "crop",
            _written("crop", _CROP),
            {"photo": "photo", "boxes": "BOXES"},
            {"image": "cropped"},
        ),
        PipelineStep(
            "classify", built("squeezenet")[0], {"image": "cropped"}, {"logits": "CLASSES"}
        ),
    ]


INPUT, OUTPUTS = "FILE", ("BOXES", "SCORES", "CLASSES")


def photograph(size: str) -> np.ndarray[Any, Any]:
    """A JPEG of soft colours and noise, of one of PHOTOGRAPHS."""
    from PIL import Image

    width, height = PHOTOGRAPHS[size]

    random = np.random.default_rng(1)
    coarse = random.integers(0, 255, (height // _CELL, width // _CELL, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    noisy = np.asarray(image).astype(np.int16) + random.integers(
        -8, 9, (height, width, 3), np.int16
    )
    file = io.BytesIO()
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=85)
    return np.frombuffer(file.getvalue(), np.uint8)


def _written(name: str, text: str) -> Path:
    folder = FOLDER / "ensemble"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return path
