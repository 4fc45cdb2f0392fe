"""A layer of a block: what it computes, of which tensors and constants."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.engine.compilation.works import Work


@dataclass(frozen=True)
class TensorRef:
    """A tensor of the model, as ONNX has it or in slices of 16 channels."""

    name: str
    sliced: bool = False


@dataclass(frozen=True)
class PackRef:
    """A constant as a layer wants it: ``PackKind`` of segment_runtime.h.

    Parameters
    ----------
    kind : str
    constant : str
        Its name in the model; empty for zeros.
    outs, ins, window : int
    """

    kind: str
    constant: str
    outs: int
    ins: int = 1
    window: int = 1


@dataclass(frozen=True)
class Layer:
    """One function's work.

    Parameters
    ----------
    name : str
        Of its first operator.
    work : Work
    reads : tuple of TensorRef or PackRef
        In the function's order.
    makes : TensorRef
    """

    name: str
    work: Work
    reads: tuple[TensorRef | PackRef, ...]
    makes: TensorRef


@dataclass(frozen=True)
class BlockLayers:
    """Tasks ``first <= i < end`` of a graph as layers.

    Parameters
    ----------
    inputs, outputs, constants : tuple of str
        Of the block, by name.
    shapes : dict
        Dimensions of each tensor of one item, the batch's 1 first.
    same : dict
        Tensors that are others, but for their shape.
    """

    first: int
    end: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[Layer, ...]
    shapes: dict[str, tuple[int, ...]]
    same: dict[str, str]

    @property
    def constants(self) -> tuple[str, ...]:
        """Each once, in the order in which layers read them."""
        packs = (r for layer in self.layers for r in layer.reads if isinstance(r, PackRef))
        return tuple(dict.fromkeys(pack.constant for pack in packs if pack.constant))
