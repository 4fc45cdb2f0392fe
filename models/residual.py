"""The residual stages of ResNet and its kin, batch norms folded.

Blocks as in He et al. 2016, figure 5: two 3 x 3 convolutions, or a bottleneck of 1 x 1, 3 x 3,
1 x 1, which ResNeXt groups [Xie et al. 2017, figure 3c]. A stage halves the map in the 3 x 3
convolution of its first block, as the common implementations do; the paper has it in the 1 x 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.models.builder import GraphBuilder
from surplus.models.layers import Conv, Init, conv, conv_relu, max_pool

# Without batch norm each block would double the variance; a small last convolution keeps it.
RESIDUAL = Init(gain=0.25)
_SHORTCUT = Init(gain=0.7)


@dataclass(frozen=True)
class Residual:
    """Layout of the stages.

    Parameters
    ----------
    blocks : tuple of int
        Blocks of each stage.
    bottleneck : bool
        Bottlenecks, whose output is four times as wide, or blocks of two convolutions.
    width : int
        Channels of the stem and of the first stage; each stage doubles them.
    groups : int
        Groups of a bottleneck's 3 x 3 convolution.
    widening : int
        Channels of a bottleneck's 3 x 3 convolution over the stage's width.
    strides : tuple of int
        Stride of each stage's first block.
    """

    blocks: tuple[int, ...]
    bottleneck: bool = True
    width: int = 64
    groups: int = 1
    widening: int = 1
    strides: tuple[int, ...] = (1, 2, 2, 2)

    @property
    def expansion(self) -> int:
        """Channels that a block gives over its stage's width."""
        return 4 if self.bottleneck else 1

    @property
    def channels_out(self) -> int:
        """Channels of the last stage."""
        return self.expansion * self.width << (len(self.blocks) - 1)


RESNET_18 = Residual((2, 2, 2, 2), bottleneck=False)
RESNET_50 = Residual((3, 4, 6, 3))
RESNET_101 = Residual((3, 4, 23, 3))
RESNET_152 = Residual((3, 8, 36, 3))
RESNEXT_50 = Residual((3, 4, 6, 3), groups=32, widening=2)


def residual_stages(
    b: GraphBuilder, x: str, layout: Residual, input_gain: float = 1.0
) -> list[str]:
    """Add stem and stages on (batch, 3, height, width).

    Parameters
    ----------
    input_gain : float
        Factor on the first convolution's weights, to bring raw pixel values to unit scale.

    Returns
    -------
    list of str
        Outputs of the stages; of ResNet-50: 256, 512, 1024, 2048 channels, strides 4, 8, 16, 32.
    """
    x = conv_relu(b, x, "stem", Conv(3, layout.width, 7, 2, init=Init(gain=input_gain)))
    x = max_pool(b, x, 3, 2, 1)
    add_block = _bottleneck if layout.bottleneck else _basic_block
    stages, channels = [], layout.width
    for stage, blocks in enumerate(layout.blocks):
        width = layout.width << stage
        for block in range(blocks):
            stride = layout.strides[stage] if block == 0 else 1
            with b.scope(f"stage{stage + 1}.{block}"):
                x = add_block(b, x, layout, (channels, width), stride)
            channels = layout.expansion * width
        stages.append(x)
    return stages


def _bottleneck(
    b: GraphBuilder, x: str, layout: Residual, channels: tuple[int, int], stride: int
) -> str:
    channels_in, width = channels
    hidden = layout.widening * width
    y = conv_relu(b, x, "conv1", Conv(channels_in, hidden))
    y = conv_relu(b, y, "conv2", Conv(hidden, hidden, 3, stride, groups=layout.groups))
    y = conv(b, y, "conv3", Conv(hidden, 4 * width, init=RESIDUAL))
    return _add_shortcut(b, x, y, Conv(channels_in, 4 * width, stride=stride, init=_SHORTCUT))


def _basic_block(
    b: GraphBuilder, x: str, _: Residual, channels: tuple[int, int], stride: int
) -> str:
    channels_in, width = channels
    y = conv_relu(b, x, "conv1", Conv(channels_in, width, 3, stride))
    y = conv(b, y, "conv2", Conv(width, width, 3, init=RESIDUAL))
    return _add_shortcut(b, x, y, Conv(channels_in, width, stride=stride, init=_SHORTCUT))


def _add_shortcut(b: GraphBuilder, x: str, y: str, projection: Conv) -> str:
    if projection.channels_in != projection.channels_out or projection.stride > 1:
        x = conv(b, x, "shortcut", projection)
    return b.op("Relu", b.op("Add", y, x, name="add"), name="relu")
