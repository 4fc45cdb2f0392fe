"""Anchor boxes, computed while the model is built: the image size is static."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.models.builder import Array

RATIOS = (0.5, 1.0, 2.0)

# Scales of SSD's default boxes, relative to the image; the last one only pairs with the sixth.
_SSD_SCALES = tuple(scale / 300.0 for scale in (21, 45, 99, 153, 207, 261, 315))
_SSD_ASPECTS = ((2.0,), (2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (2.0,), (2.0,))


def pyramid_anchors(map_size: int, stride: int, side: float) -> Array:
    """Anchors of one pyramid level, three ratios per cell [Lin et al. 2017, section 4.1].

    Parameters
    ----------
    map_size : int
        Height and width of the feature map in cells.
    stride : int
        Pixels per cell.
    side : float
        Square root of an anchor's area in pixels.

    Returns
    -------
    numpy.ndarray
        float32 (map_size * map_size * 3, 4): x1, y1, x2, y2 in pixels, ratios innermost.
    """
    ratios = np.sqrt(np.asarray(RATIOS))
    sizes = np.stack([side / ratios, side * ratios], axis=-1)
    centres = (np.arange(map_size) + 0.5) * stride
    return _corners(_grid(centres, len(RATIOS)), np.tile(sizes, (map_size * map_size, 1)))


def ssd_anchors(map_sizes: Sequence[int]) -> Array:
    """Build MLPerf's default boxes on six square maps; see `default_boxes`."""
    return default_boxes(map_sizes, [_ssd_shapes(level) for level in range(len(map_sizes))])


def default_boxes(map_sizes: Sequence[int], shapes: Sequence[Array]) -> Array:
    """Put boxes of some shapes on all cells of square maps [Liu et al. 2016, section 2.2].

    Parameters
    ----------
    map_sizes : sequence of int
        Height and width of each map in cells.
    shapes : sequence of numpy.ndarray
        Of each map, (shapes, 2): width and height as fractions of the image.

    Returns
    -------
    numpy.ndarray
        float32 (boxes, 4): x1, y1, x2, y2 as fractions of the image, cells innermost.
    """
    levels = []
    for map_size, sizes in zip(map_sizes, shapes, strict=True):
        centres = (np.arange(map_size) + 0.5) / map_size
        cells = np.tile(_grid(centres, 1), (len(sizes), 1))
        levels.append(_corners(cells, np.repeat(sizes, map_size * map_size, axis=0)))
    return np.concatenate(levels)


def ssd_shapes_per_cell(level: int) -> int:
    """Return how many default boxes a cell of map `level` has."""
    return 2 + 2 * len(_SSD_ASPECTS[level])


def _ssd_shapes(level: int) -> Array:
    scale, following = _SSD_SCALES[level : level + 2]
    shapes = [(scale, scale), (np.sqrt(scale * following),) * 2]
    for aspect in np.sqrt(_SSD_ASPECTS[level]):
        shapes += [(scale * aspect, scale / aspect), (scale / aspect, scale * aspect)]
    return np.asarray(shapes)


def _grid(centres: Array, repeats: int) -> Array:
    y, x = np.meshgrid(centres, centres, indexing="ij")
    return np.repeat(np.stack([x.ravel(), y.ravel()], axis=-1), repeats, axis=0)


def _corners(centres: Array, sizes: Array) -> Array:
    boxes: Array = np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=-1)
    return boxes.astype(np.float32)
