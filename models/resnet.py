"""ResNet-50 [He et al. 2016, table 1], batch norms folded; also the R-CNN's backbone."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import Array, GraphBuilder
from models.images import normalized_input, street
from models.layers import Conv, Init, classifier, conv, conv_relu, max_pool
from models.registry import register

BLOCKS_50 = (3, 4, 6, 3)

# Without batch norm each block would double the variance; a small last convolution keeps it.
RESIDUAL = Init(gain=0.25)


@dataclass(frozen=True)
class ResnetParams:
    """Parameters of ResNet-50.

    Parameters
    ----------
    image_size : int
        Height and width of the image in pixels, at least 32.
    classes : int
        Number of logits.
    seed : int
        Seed of the weights.
    """

    image_size: int = 224
    classes: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.image_size < 32 or self.classes < 1:
            raise ValueError(f"image_size must be >= 32 and classes >= 1, got {self}")


def bottleneck_stages(b: GraphBuilder, x: str, input_gain: float = 1.0) -> list[str]:
    """Add stem and four stages of ResNet-50 on (batch, 3, height, width).

    Parameters
    ----------
    input_gain : float
        Factor on the first convolution's weights, to bring raw pixel values to unit scale.

    Returns
    -------
    list of str
        Outputs of the stages: 256, 512, 1024, 2048 channels at strides 4, 8, 16, 32.
    """
    x = conv_relu(b, x, "stem", Conv(3, 64, 7, 2, init=Init(gain=input_gain)))
    x = max_pool(b, x, 3, 2, 1)
    stages, channels = [], 64
    for stage, blocks in enumerate(BLOCKS_50):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            with b.scope(f"stage{stage + 1}.{block}"):
                x = _bottleneck(b, x, channels, width, stride)
            channels = 4 * width
        stages.append(x)
    return stages


def _bottleneck(b: GraphBuilder, x: str, channels: int, width: int, stride: int) -> str:
    y = conv_relu(b, x, "conv1", Conv(channels, width))
    y = conv_relu(b, y, "conv2", Conv(width, width, 3, stride))
    y = conv(b, y, "conv3", Conv(width, 4 * width, init=RESIDUAL))
    if channels != 4 * width:
        x = conv(b, x, "shortcut", Conv(channels, 4 * width, stride=stride, init=Init(0.7)))
    return b.op("Relu", b.op("Add", y, x, name="add"), name="relu")


def build_resnet50(params: ResnetParams) -> onnx.ModelProto:
    """Build ResNet-50: image (batch, 3, size, size), normalised RGB, to logits."""
    b = GraphBuilder("resnet50", params.seed)
    x = b.input("image", ("batch", 3, params.image_size, params.image_size))
    features = bottleneck_stages(b, x)[-1]
    logits = classifier(b, features, (2048, params.classes))
    b.output(logits, "logits", ("batch", params.classes))
    return b.build("ResNet-50, seeded weights, batch norms folded")


def resnet_inputs(params: ResnetParams, seed: int) -> dict[str, Array]:
    """Make the street scene of that seed."""
    return {"image": normalized_input(street(params.image_size, params.image_size, seed))}


register(
    "resnet50",
    family="classifier",
    description="ResNet-50, 224 x 224: 122 operators, nearly a chain of convolutions",
    params=ResnetParams,
    build=build_resnet50,
    example_inputs=resnet_inputs,
)
