"""Multiply-adds of ResNet-50's convolutions, in the order of VELTAIR's published times.

References
----------
He et al., CVPR'16, Table 1; the stride of a stage is on its 3x3 convolution, as in the models of
today. A stage's projection stands before the last convolution of its first block: the order that
gives VELTAIR's needs.
"""

from __future__ import annotations

_STAGES = ((3, 64, 256, 56), (4, 128, 512, 28), (6, 256, 1024, 14), (3, 512, 2048, 7))
"""Blocks, width inside, width outside, height and width of the outputs."""


def resnet50_operations() -> tuple[int, ...]:
    """The 53 convolutions for an image of 224 x 224."""
    found = [112 * 112 * 64 * 3 * 7 * 7]
    width_in, side_in = 64, 56
    for blocks, inside, outside, side in _STAGES:
        for block in range(blocks):
            reduce = side_in**2 * width_in * inside
            spatial = side**2 * inside * inside * 9
            expand = side**2 * inside * outside
            project = [side**2 * width_in * outside] if block == 0 else []
            found += [reduce, spatial, *project, expand]
            width_in, side_in = outside, side
    return tuple(found)
