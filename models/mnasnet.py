"""MnasNet-B1 [Tan et al. 2019], batch norms folded.

This is torchvision's ``mnasnet1_0``, the network that section 4.2 searches without squeeze and
excitation (B1, 4.4 million weights in table 1); the A1 of the paper's figure 7 has it.
"""

from __future__ import annotations

import onnx

from surplus.models.activations import conv_activation, relu
from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.inverted_residual import MobileStyle, Row, add_rows
from surplus.models.layers import Conv, classifier
from surplus.models.registry import register

# The first row is the paper's separable convolution: a block without expansion.
_ROWS = (
    Row(1, 16, 1, 1),
    Row(3, 24, 3, 2),
    Row(3, 40, 3, 2, kernel=5),
    Row(6, 80, 3, 2, kernel=5),
    Row(6, 96, 2, 1),
    Row(6, 192, 4, 2, kernel=5),
    Row(6, 320, 1, 1),
)
_HEAD_CHANNELS = 1280


def build_mnasnet(params: ClassifierParams) -> onnx.ModelProto:
    """Build MnasNet-B1: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("mnasnet", params.seed)
    x = conv_activation(b, image_input(b, params), "stem", Conv(3, 32, 3, 2), relu)
    x = add_rows(b, x, 32, _ROWS, MobileStyle(relu))
    x = conv_activation(b, x, "head", Conv(320, _HEAD_CHANNELS), relu)
    logits = classifier(b, x, (_HEAD_CHANNELS, params.classes))
    return finish(b, logits, params, "MnasNet-B1, seeded weights, batch norms folded")


register(
    "mnasnet",
    family="classifier",
    description="MnasNet-B1, 224 x 224: light operators, nearly a chain",
    params=ClassifierParams,
    build=build_mnasnet,
    example_inputs=street_input,
)
