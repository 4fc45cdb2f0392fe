"""MobileNetV2 [Sandler et al. 2018, table 2], batch norms folded: 100 operators."""

from __future__ import annotations

import onnx

from surplus.models.activations import conv_activation, relu6
from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.inverted_residual import MobileStyle, Row, add_rows
from surplus.models.layers import Conv, classifier
from surplus.models.registry import register

# Expansion, channels out, blocks, stride of the first block: table 2.
_ROWS = (
    Row(1, 16, 1, 1),
    Row(6, 24, 2, 2),
    Row(6, 32, 3, 2),
    Row(6, 64, 4, 2),
    Row(6, 96, 3, 1),
    Row(6, 160, 3, 2),
    Row(6, 320, 1, 1),
)
_HEAD_CHANNELS = 1280


def build_mobilenet_v2(params: ClassifierParams) -> onnx.ModelProto:
    """Build MobileNetV2: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("mobilenet_v2", params.seed)
    x = conv_activation(b, image_input(b, params), "stem", Conv(3, 32, 3, 2), relu6)
    x = add_rows(b, x, 32, _ROWS, MobileStyle(relu6))
    x = conv_activation(b, x, "head", Conv(320, _HEAD_CHANNELS), relu6)
    logits = classifier(b, x, (_HEAD_CHANNELS, params.classes))
    return finish(b, logits, params, "MobileNetV2, seeded weights, batch norms folded")


register(
    "mobilenet_v2",
    family="classifier",
    description="MobileNetV2, 224 x 224: 100 light operators, nearly a chain",
    params=ClassifierParams,
    build=build_mobilenet_v2,
    example_inputs=street_input,
)
