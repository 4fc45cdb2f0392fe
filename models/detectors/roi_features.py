"""Features of regions from the pyramid level that fits their size [Lin et al. 2017, eq. 1]."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from surplus.models.builder import GraphBuilder
from surplus.models.detectors.pyramid import Level

_CANONICAL_SIDE = 224.0
_CANONICAL_LEVEL = 4.0
_ZERO = numpy_helper.from_array(np.array([0], np.int64))


def roi_features(b: GraphBuilder, levels: list[Level], boxes: str, resolution: int) -> str:
    """Add RoIAlign on the four finest levels and restore the order of the boxes.

    Parameters
    ----------
    levels : list of Level
        The pyramid; the coarsest level serves the proposals only.
    boxes : str
        Value (n, 4) in pixels; n, or a level's share of it, may be 0.
    resolution : int
        Cells per side of the aligned features.

    Returns
    -------
    str
        Value (n, 256, resolution, resolution).
    """
    numbers = _level_numbers(b, boxes)
    features, rows = [], []
    for number, level in enumerate(levels[:4], start=2):
        with b.scope(f"level{number}"):
            here = b.op("Equal", numbers, b.constant([[float(number)]]))
            rows.append(b.op("Gather", b.op("NonZero", here), b.index(0), name="rows"))
            features.append(_align(b, level, boxes, rows[-1], resolution))
    joined = b.op("Concat", *features, axis=0, name="all_features")
    return b.op("Gather", joined, _inverse(b, b.op("Concat", *rows, axis=0, name="all_rows")))


def _level_numbers(b: GraphBuilder, boxes: str) -> str:
    x1, y1, x2, y2 = b.op_multi("Split", boxes, outputs=4, axis=-1, name="columns")
    area = b.op("Mul", b.op("Sub", x2, x1), b.op("Sub", y2, y1))
    relative = b.op("Div", b.op("Sqrt", area), b.constant(_CANONICAL_SIDE))
    # The small term keeps a box without area out of the logarithm's pole.
    octaves = b.op("Log", b.op("Add", relative, b.constant(1e-6)))
    octaves = b.op("Div", octaves, b.constant(np.log(2.0)))
    level = b.op("Floor", b.op("Add", octaves, b.constant(_CANONICAL_LEVEL)))
    return b.op("Clip", level, b.constant(2.0), b.constant(5.0), name="level")


def _align(b: GraphBuilder, level: Level, boxes: str, rows: str, resolution: int) -> str:
    images = b.op("ConstantOfShape", b.op("Shape", rows), value=_ZERO, name="image_of_box")
    return b.op(
        "RoiAlign",
        level.value,
        b.op("Gather", boxes, rows),
        images,
        output_height=resolution,
        output_width=resolution,
        sampling_ratio=2,
        spatial_scale=1.0 / level.stride,
    )


def _inverse(b: GraphBuilder, permutation: str) -> str:
    # Where a permutation sorts to is its inverse.
    count = b.op("Shape", permutation)
    _, inverse = b.op_multi(
        "TopK", permutation, count, outputs=2, axis=0, largest=0, name="inverse"
    )
    return inverse
