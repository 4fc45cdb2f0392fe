"""The inverted residual block of mobile networks, with or without squeeze and excitation.

A 1 x 1 convolution expands, a depthwise one filters, a linear 1 x 1 one projects
[Sandler et al. 2018, table 1]. MnasNet and EfficientNet use the same block with other kernels and
activations; squeeze and excitation [Hu et al. 2018, section 3] weighs the filtered channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.models.activations import Activation, conv_activation
from surplus.models.builder import GraphBuilder
from surplus.models.layers import HE, Conv, Init, conv

# Small and without mean, so that the gates stay away from 0 and 1.
_GATE = Init(gain=0.3, zero_mean=True)

# Projections are linear, so they take half of He's variance.
LINEAR = Init(gain=0.7)


@dataclass(frozen=True)
class MobileStyle:
    """What all blocks of a network share.

    Parameters
    ----------
    activation : callable
        After expansion and filter.
    init, projection : Init
        Weights before the activation, and of the projection.
    squeeze : int
        Channels of the block's input over those of the squeezed vector; 0 leaves it out.
    """

    activation: Activation
    init: Init = HE
    projection: Init = LINEAR
    squeeze: int = 0


@dataclass(frozen=True)
class Row:
    """A row of an architecture's table: `blocks` blocks, the first of stride `stride`.

    Parameters
    ----------
    expansion : int
        Hidden channels over the block's input channels; 1 leaves the expansion out.
    channels_out, blocks, stride, kernel : int
        Of the row's blocks; the kernel is the depthwise filter's.
    """

    expansion: int
    channels_out: int
    blocks: int
    stride: int
    kernel: int = 3


def add_rows(
    b: GraphBuilder, x: str, channels: int, rows: tuple[Row, ...], style: MobileStyle
) -> str:
    """Add all blocks of a table on `x` of `channels` channels, numbered through."""
    number = 0
    for row in rows:
        for block in range(row.blocks):
            with b.scope(f"block{number}"):
                x = _block(b, x, channels, row, row.stride if block == 0 else 1, style)
            channels, number = row.channels_out, number + 1
    return x


def _block(
    b: GraphBuilder, x: str, channels: int, row: Row, stride: int, style: MobileStyle
) -> str:
    hidden = channels * row.expansion
    y = x
    if row.expansion > 1:
        expand = Conv(channels, hidden, init=style.init)
        y = conv_activation(b, y, "expand", expand, style.activation)
    depthwise = Conv(hidden, hidden, row.kernel, stride, groups=hidden, init=style.init)
    y = conv_activation(b, y, "depthwise", depthwise, style.activation)
    if style.squeeze:
        y = _squeeze_excite(b, y, hidden, channels // style.squeeze, style.activation)
    y = conv(b, y, "project", Conv(hidden, row.channels_out, init=style.projection))
    if stride == 1 and channels == row.channels_out:
        y = b.op("Add", x, y, name="add")
    return y


def _squeeze_excite(
    b: GraphBuilder, x: str, channels: int, squeezed: int, activation: Activation
) -> str:
    with b.scope("squeeze_excite"):
        y = b.op("GlobalAveragePool", x, name="pool")
        y = conv_activation(b, y, "reduce", Conv(channels, squeezed), activation)
        y = b.op("Sigmoid", conv(b, y, "expand", Conv(squeezed, channels, init=_GATE)), name="gate")
        return b.op("Mul", x, y, name="scale")
