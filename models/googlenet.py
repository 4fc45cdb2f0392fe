"""GoogLeNet, the first Inception [Szegedy et al. 2015, table 1], with its response normalisation.

As the authors' release in Caffe: local response normalisation [Krizhevsky et al. 2012, section
3.3] and poolings that round up. The auxiliary classifiers, used in training only, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.layers import Conv, classifier, conv_relu, max_pool
from surplus.models.registry import register


@dataclass(frozen=True)
class _Inception:
    """A row of table 1: channels of the four branches, reductions in front of 3 x 3 and 5 x 5."""

    direct: int
    reduce3: int
    conv3: int
    reduce5: int
    conv5: int
    pooled: int

    @property
    def channels_out(self) -> int:
        return self.direct + self.conv3 + self.conv5 + self.pooled


_STAGES = {
    "3": (
        _Inception(64, 96, 128, 16, 32, 32),
        _Inception(128, 128, 192, 32, 96, 64),
    ),
    "4": (
        _Inception(192, 96, 208, 16, 48, 64),
        _Inception(160, 112, 224, 24, 64, 64),
        _Inception(128, 128, 256, 24, 64, 64),
        _Inception(112, 144, 288, 32, 64, 64),
        _Inception(256, 160, 320, 32, 128, 128),
    ),
    "5": (
        _Inception(256, 160, 320, 32, 128, 128),
        _Inception(384, 192, 384, 48, 128, 128),
    ),
}


def build_googlenet(params: ClassifierParams) -> onnx.ModelProto:
    """Build GoogLeNet: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("googlenet", params.seed)
    x, channels = _stem(b, image_input(b, params)), 192
    for stage, rows in _STAGES.items():
        x = max_pool(b, x, 3, 2, ceil=True)
        for letter, row in zip("abcde", rows, strict=False):
            with b.scope(f"inception{stage}{letter}"):
                x = _inception(b, x, channels, row)
            channels = row.channels_out
    logits = classifier(b, x, (channels, params.classes))
    return finish(b, logits, params, "GoogLeNet, seeded weights")


def _stem(b: GraphBuilder, x: str) -> str:
    x = max_pool(b, conv_relu(b, x, "conv1", Conv(3, 64, 7, 2)), 3, 2, ceil=True)
    x = conv_relu(b, _normalize(b, x), "conv2.reduce", Conv(64, 64))
    return _normalize(b, conv_relu(b, x, "conv2", Conv(64, 192, 3)))


def _normalize(b: GraphBuilder, x: str) -> str:
    return b.op("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0, name="lrn")


def _inception(b: GraphBuilder, x: str, channels: int, row: _Inception) -> str:
    reduced3 = conv_relu(b, x, "3x3.reduce", Conv(channels, row.reduce3))
    reduced5 = conv_relu(b, x, "5x5.reduce", Conv(channels, row.reduce5))
    branches = (
        conv_relu(b, x, "1x1", Conv(channels, row.direct)),
        conv_relu(b, reduced3, "3x3", Conv(row.reduce3, row.conv3, 3)),
        conv_relu(b, reduced5, "5x5", Conv(row.reduce5, row.conv5, 5)),
        conv_relu(b, max_pool(b, x, 3, 1, 1), "pooled", Conv(channels, row.pooled)),
    )
    return b.op("Concat", *branches, axis=1, name="concat")


register(
    "googlenet",
    family="classifier",
    description="GoogLeNet, 224 x 224: nine modules of four branches",
    params=ClassifierParams,
    build=build_googlenet,
    example_inputs=street_input,
)
