"""What a layer computes, with all sizes: the key by which equal layers are compiled once.

Tensors are of one item. Convolutions read and make slices of 16 channels, ``[C/16][H][W][16]``,
padded with zeros; the others what ONNX has, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.engine.compilation.program import LayerProgram

SLICE = 16
"""Channels, or columns, that are computed as one vector."""


def slices(count: int) -> int:
    """Slices that so many channels take."""
    return -(-count // SLICE)


@dataclass(frozen=True)
class Convolution:
    """A convolution, its bias, and what follows it.

    Parameters
    ----------
    channels, outs : int
    size, kernel, strides : (int, int)
        Height and width.
    pads : (int, int, int, int)
        Top, left, bottom, right.
    depthwise : bool
        Each channel by itself.
    """

    channels: int
    outs: int
    size: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    depthwise: bool
    program: LayerProgram = field(default_factory=LayerProgram)

    @property
    def out_size(self) -> tuple[int, int]:
        """Height and width of what it makes."""
        top, left, bottom, right = self.pads
        height = (self.size[0] + top + bottom - self.kernel[0]) // self.strides[0] + 1
        return height, (self.size[1] + left + right - self.kernel[1]) // self.strides[1] + 1

    @property
    def operations(self) -> int:
        """Multiply-adds."""
        height, width = self.out_size
        ins = 1 if self.depthwise else self.channels
        return self.outs * height * width * ins * self.kernel[0] * self.kernel[1]


@dataclass(frozen=True)
class Dense:
    """Rows times a constant matrix, and what follows it."""

    rows: int
    ins: int
    outs: int
    program: LayerProgram = field(default_factory=LayerProgram)

    @property
    def operations(self) -> int:
        """Multiply-adds."""
        return self.rows * self.ins * self.outs


@dataclass(frozen=True)
class Batched:
    """So many products of two matrices that are computed, and what follows them."""

    count: int
    rows: int
    ins: int
    outs: int
    program: LayerProgram = field(default_factory=LayerProgram)

    @property
    def operations(self) -> int:
        """Multiply-adds."""
        return self.count * self.rows * self.ins * self.outs


@dataclass(frozen=True)
class Rowwise:
    """A program over rows, in which means and softmaxes of whole rows are allowed.

    ``dims`` are those of the tensors, the last one the length of a row.
    """

    dims: tuple[int, ...]
    program: LayerProgram

    @property
    def rows(self) -> int:
        """How many there are."""
        count = 1
        for extent in self.dims[:-1]:
            count *= extent
        return count

    @property
    def operations(self) -> int:
        """About as many as there are numbers, for each instruction."""
        return self.rows * self.dims[-1] * max(1, len(self.program.instructions))


@dataclass(frozen=True)
class Turned:
    """A transposition."""

    dims: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def operations(self) -> int:
        """Numbers that are moved."""
        count = 1
        for extent in self.dims:
            count *= extent
        return count


Work = Convolution | Dense | Batched | Rowwise | Turned
