"""Feature pyramid on ResNet-50 [Lin et al. 2017, section 3]."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.models.builder import GraphBuilder
from surplus.models.layers import Conv, Init, conv
from surplus.models.residual import RESNET_50, residual_stages

CHANNELS = 256
STRIDES = (4, 8, 16, 32, 64)
ANCHOR_SIDES = (32.0, 64.0, 128.0, 256.0, 512.0)


@dataclass(frozen=True)
class Level:
    """A level of the pyramid: its value (1, 256, size, size) and its size in cells."""

    value: str
    size: int
    stride: int
    anchor_side: float


def feature_pyramid(b: GraphBuilder, image: str, image_size: int) -> list[Level]:
    """Add ResNet-50 and the pyramid of five levels on an image (1, 3, size, size)."""
    with b.scope("backbone"):
        # Pixels minus mean have a deviation of about 60.
        stages = residual_stages(b, image, RESNET_50, input_gain=1.0 / 60.0)
    with b.scope("pyramid"):
        maps = _top_down(b, stages)
        maps.append(b.op("MaxPool", maps[-1], kernel_shape=[1, 1], strides=[2, 2], name="p6"))
    sizes = [image_size // stride for stride in STRIDES[:4]]
    sizes.append((sizes[-1] + 1) // 2)
    return [
        Level(value, size, stride, side)
        for value, size, stride, side in zip(maps, sizes, STRIDES, ANCHOR_SIDES, strict=True)
    ]


def _top_down(b: GraphBuilder, stages: list[str]) -> list[str]:
    # Linear layers: half of He's variance, and half again where two maps are added.
    lateral = Init(gain=0.5, zero_mean=True)
    merged: list[str] = []
    for i in reversed(range(4)):
        x = conv(b, stages[i], f"lateral{i + 2}", Conv(256 << i, CHANNELS, init=lateral))
        if merged:
            scales = b.constant([1.0, 1.0, 2.0, 2.0])
            above = b.op(
                "Resize",
                merged[0],
                "",
                scales,
                name=f"upsample{i + 2}",
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            )
            x = b.op("Add", x, above, name=f"merge{i + 2}")
        merged.insert(0, x)
    smooth = Conv(CHANNELS, CHANNELS, 3, init=Init(gain=0.7, zero_mean=True))
    return [conv(b, x, f"p{i + 2}", smooth) for i, x in enumerate(merged)]
