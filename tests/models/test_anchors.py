"""Anchors against numbers worked out by hand or given by the originals."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.models.detectors import ssd_mobilenet_network
from surplus.models.detectors.anchors import pyramid_anchors, ssd_anchors
from surplus.models.detectors.ssd_network import map_sizes


def test_pyramid_anchor_of_the_first_cell() -> None:
    anchors = pyramid_anchors(map_size=2, stride=4, side=32.0)
    assert anchors.shape == (12, 4)
    # Ratio 1 on the cell centred at (2, 2).
    np.testing.assert_allclose(anchors[1], [-14, -14, 18, 18])
    # Height / width = 0.5: 45.25 x 22.63 pixels.
    np.testing.assert_allclose(anchors[0][2:] - anchors[0][:2], [45.2548, 22.6274], rtol=1e-5)


def test_cells_run_along_rows_first() -> None:
    anchors = pyramid_anchors(map_size=2, stride=4, side=32.0)
    centres = (anchors[1::3, :2] + anchors[1::3, 2:]) / 2
    np.testing.assert_allclose(centres, [[2, 2], [6, 2], [2, 6], [6, 6]])


@pytest.mark.parametrize(
    ("image_size", "maps", "boxes"),
    [(300, [38, 19, 10, 5, 3, 1], 8732), (1200, [50, 25, 13, 7, 3, 3], 15130)],
)
def test_ssd_has_mlperfs_maps_and_boxes(image_size: int, maps: list[int], boxes: int) -> None:
    assert map_sizes(image_size) == maps
    assert ssd_anchors(maps).shape == (boxes, 4)


def test_ssd_boxes_run_shape_by_shape() -> None:
    # As the heads' maps are flattened: first all cells of the first shape.
    anchors = ssd_anchors([2, 1, 1, 1, 1, 1])
    sizes = anchors[:, 2:] - anchors[:, :2]
    np.testing.assert_allclose(sizes[:4], np.full((4, 2), 21 / 300), rtol=1e-5)
    centres = (anchors[:4, :2] + anchors[:4, 2:]) / 2
    expected = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]
    np.testing.assert_allclose(centres, expected)


def test_ssd_mobilenet_has_tensorflows_maps_and_boxes() -> None:
    maps = ssd_mobilenet_network.map_sizes(300)
    assert maps == [19, 10, 5, 3, 2, 1]
    boxes = ssd_mobilenet_network.ssd_mobilenet_anchors(maps)
    assert boxes.shape == (1917, 4)
    sizes = boxes[:, 2:] - boxes[:, :2]
    # The finest map starts with squares of a tenth, then 0.2 x sqrt(2) wide and 0.2 / sqrt(2) high.
    np.testing.assert_allclose(sizes[0], [0.1, 0.1], rtol=1e-5)
    np.testing.assert_allclose(sizes[19 * 19], [0.282843, 0.141421], rtol=1e-5)
    # The one cell of the last map: its centre, and sqrt(0.95 x 1) for the box of the larger scale.
    np.testing.assert_allclose((boxes[-1, :2] + boxes[-1, 2:]) / 2, [0.5, 0.5], rtol=1e-5)
    np.testing.assert_allclose(sizes[-1], [0.974679, 0.974679], rtol=1e-5)
