"""ResNet-18, 50, 101 and 152 [He et al. 2016, table 1] and ResNeXt-50 32x4d [Xie et al. 2017].

Batch norms are folded into the convolutions. ResNeXt's layout is table 1 of its paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import check_sizes, finish, image_input, street_input
from surplus.models.layers import classifier
from surplus.models.registry import register
from surplus.models.residual import (
    RESNET_18,
    RESNET_50,
    RESNET_101,
    RESNET_152,
    RESNEXT_50,
    Residual,
    residual_stages,
)


@dataclass(frozen=True)
class ResnetParams:
    """Parameters of ResNet and ResNeXt.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Number of logits.
    width : int
        Channels of the stem, 64 in the originals, a multiple of 16; all others in proportion.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    width: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self)
        if self.width < 16 or self.width % 16:
            raise ValueError(f"width must be a multiple of 16 and at least 16, got {self.width}")


def build_resnet18(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNet-18: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "resnet18", "ResNet-18", RESNET_18)


def build_resnet50(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNet-50: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "resnet50", "ResNet-50", RESNET_50)


def build_resnet101(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNet-101: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "resnet101", "ResNet-101", RESNET_101)


def build_resnet152(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNet-152: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "resnet152", "ResNet-152", RESNET_152)


def build_resnext50(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNeXt-50 32x4d: image (batch, 3, size, size), normalised RGB, to logits."""
    return _build(params, "resnext50", "ResNeXt-50 32x4d", RESNEXT_50)


def _build(params: ResnetParams, name: str, title: str, original: Residual) -> onnx.ModelProto:
    layout = replace(original, width=params.width)
    b = GraphBuilder(name, params.seed)
    features = residual_stages(b, image_input(b, params), layout)[-1]
    logits = classifier(b, features, (layout.channels_out, params.classes))
    return finish(b, logits, params, f"{title}, seeded weights, batch norms folded")


for _name, _description, _builder in (
    ("resnet18", "ResNet-18, 224 x 224: basic blocks, nearly a chain", build_resnet18),
    (
        "resnet50",
        "ResNet-50, 224 x 224: 122 operators, nearly a chain of convolutions",
        build_resnet50,
    ),
    ("resnet101", "ResNet-101, 224 x 224: 33 bottlenecks, nearly a chain", build_resnet101),
    ("resnet152", "ResNet-152, 224 x 224: 50 bottlenecks, nearly a chain", build_resnet152),
    ("resnext50", "ResNeXt-50 32x4d, 224 x 224: grouped convolutions", build_resnext50),
):
    register(
        _name,
        family="classifier",
        description=_description,
        params=ResnetParams,
        build=_builder,
        example_inputs=street_input,
    )
