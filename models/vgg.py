"""VGG-16 and VGG-19 [Simonyan and Zisserman 2015, table 1, columns D and E]."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import check_sizes, finish, image_input, street_input
from surplus.models.layers import ZERO_MEAN, Conv, conv_relu, gemm, max_pool
from surplus.models.registry import register

# Channels of the stages over those of the first.
_STAGE_WIDTHS = (1, 2, 4, 8, 8)
_CONVS_16 = (2, 2, 3, 3, 3)
_CONVS_19 = (2, 2, 4, 4, 4)


@dataclass(frozen=True)
class VggParams:
    """Parameters of VGG.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32. The first fully connected layer
        reads all cells of the last map, so its weights grow with the image.
    classes : int
        Number of logits.
    width : int
        Channels of the first stage, 64 in the originals; the other stages in proportion.
    hidden : int
        Features of the two fully connected layers.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    width: int = 64
    hidden: int = 4096
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self)
        if self.width < 1 or self.hidden < 1:
            raise ValueError(f"width and hidden must be at least 1, got {self}")


def build_vgg16(params: VggParams) -> onnx.ModelProto:
    """Build VGG-16: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "vgg16", "VGG-16", _CONVS_16)


def build_vgg19(params: VggParams) -> onnx.ModelProto:
    """Build VGG-19: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "vgg19", "VGG-19", _CONVS_19)


def _build(params: VggParams, name: str, title: str, convs: tuple[int, ...]) -> onnx.ModelProto:
    b = GraphBuilder(name, params.seed)
    x, channels = image_input(b, params), 3
    for stage, (count, factor) in enumerate(zip(convs, _STAGE_WIDTHS, strict=True), start=1):
        width = factor * params.width
        for i in range(1, count + 1):
            x = conv_relu(b, x, f"conv{stage}_{i}", Conv(channels, width, 3))
            channels = width
        x = max_pool(b, x, 2, 2)
    x = b.op("Flatten", x, axis=1, name="flatten")
    # Five poolings, each rounding down.
    features = channels * (params.image_size // 32) ** 2
    x = b.op("Relu", gemm(b, x, "fc6", (features, params.hidden)))
    x = b.op("Relu", gemm(b, x, "fc7", (params.hidden, params.hidden)))
    logits = gemm(b, x, "fc8", (params.hidden, params.classes), ZERO_MEAN)
    return finish(b, logits, params, f"{title}, seeded weights")


register(
    "vgg16",
    family="classifier",
    description="VGG-16, 224 x 224: a chain of heavy convolutions, 138 million weights",
    params=VggParams,
    build=build_vgg16,
    example_inputs=street_input,
)
register(
    "vgg19",
    family="classifier",
    description="VGG-19, 224 x 224: a chain of heavy convolutions, 144 million weights",
    params=VggParams,
    build=build_vgg19,
    example_inputs=street_input,
)
