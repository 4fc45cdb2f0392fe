"""EfficientNet-B0 [Tan and Le 2019, table 1], batch norms folded.

Every block weighs its channels by squeeze and excitation, with a quarter of the block's input
channels in between; the activation is the swish.
"""

from __future__ import annotations

import onnx

from surplus.models.activations import conv_activation, swish
from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import ClassifierParams, finish, image_input, street_input
from surplus.models.inverted_residual import MobileStyle, Row, add_rows
from surplus.models.layers import Conv, Init, classifier
from surplus.models.registry import register

_ROWS = (
    Row(1, 16, 1, 1),
    Row(6, 24, 2, 2),
    Row(6, 40, 2, 2, kernel=5),
    Row(6, 80, 3, 2),
    Row(6, 112, 3, 1, kernel=5),
    Row(6, 192, 4, 2, kernel=5),
    Row(6, 320, 1, 1),
)
_HEAD_CHANNELS = 1280

# Gates are near one half, which the projection makes up for. Found by trial: without norms, a
# swish amplifies what is large and damps what is small, and these gains keep features near 1.
_SWISH = Init(gain=1.05)
_STYLE = MobileStyle(swish, _SWISH, projection=Init(gain=1.4), squeeze=4)


def build_efficientnet_b0(params: ClassifierParams) -> onnx.ModelProto:
    """Build EfficientNet-B0: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("efficientnet_b0", params.seed)
    x = conv_activation(b, image_input(b, params), "stem", Conv(3, 32, 3, 2), swish)
    x = add_rows(b, x, 32, _ROWS, _STYLE)
    x = conv_activation(b, x, "head", Conv(320, _HEAD_CHANNELS, init=_SWISH), swish)
    logits = classifier(b, x, (_HEAD_CHANNELS, params.classes))
    return finish(b, logits, params, "EfficientNet-B0, seeded weights, batch norms folded")


register(
    "efficientnet_b0",
    family="classifier",
    description="EfficientNet-B0, 224 x 224: light operators, squeeze and excitation",
    params=ClassifierParams,
    build=build_efficientnet_b0,
    example_inputs=street_input,
)
