"""AlexNet in its one-column form [Krizhevsky 2014, section 5], as torchvision has it.

Neither groups nor local response normalisation, which the two-column form of Krizhevsky et
al. 2012 has.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from surplus.models.builder import GraphBuilder
from surplus.models.image_classifier import check_sizes, finish, image_input, street_input
from surplus.models.layers import ZERO_MEAN, Conv, conv_relu, gemm, max_pool
from surplus.models.registry import register

_SMALLEST_IMAGE = 63


@dataclass(frozen=True)
class AlexnetParams:
    """Parameters of AlexNet.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 63. The first fully connected layer
        reads all cells of the last map, so its weights grow with the image.
    classes : int
        Number of logits.
    hidden : int
        Features of the two fully connected layers.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    hidden: int = 4096
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_sizes(self, _SMALLEST_IMAGE)
        if self.hidden < 1:
            raise ValueError(f"hidden must be at least 1, got {self.hidden}")


def build_alexnet(params: AlexnetParams) -> onnx.ModelProto:
    """Build AlexNet: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("alexnet", params.seed)
    x = conv_relu(b, image_input(b, params), "conv1", Conv(3, 64, 11, 4, pad=2))
    x = conv_relu(b, max_pool(b, x, 3, 2), "conv2", Conv(64, 192, 5))
    x = conv_relu(b, max_pool(b, x, 3, 2), "conv3", Conv(192, 384, 3))
    x = conv_relu(b, x, "conv4", Conv(384, 256, 3))
    x = conv_relu(b, x, "conv5", Conv(256, 256, 3))
    x = b.op("Flatten", max_pool(b, x, 3, 2), axis=1, name="flatten")
    features = 256 * _cells(params.image_size) ** 2
    x = b.op("Relu", gemm(b, x, "fc6", (features, params.hidden)))
    x = b.op("Relu", gemm(b, x, "fc7", (params.hidden, params.hidden)))
    logits = gemm(b, x, "fc8", (params.hidden, params.classes), ZERO_MEAN)
    return finish(b, logits, params, "AlexNet, one column, seeded weights")


def _cells(image_size: int) -> int:
    """Height and width of the last map: 6 at 224 pixels."""
    cells = (image_size - 7) // 4 + 1
    for _ in range(3):
        cells = (cells - 3) // 2 + 1
    return cells


register(
    "alexnet",
    family="classifier",
    description="AlexNet (one column), 224 x 224: a short chain, 61 million weights",
    params=AlexnetParams,
    build=build_alexnet,
    example_inputs=street_input,
)
