"""The steps of a block over buffers: what the runtime of segments goes through, one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from surplus.engine.compilation.layer import BlockLayers, Layer, PackRef, TensorRef
from surplus.engine.compilation.works import SLICE, slices

_FLOAT = 4
_ALIGNMENT = 64


@dataclass(frozen=True)
class StepOperand:
    """``OperandKind`` of segment_runtime.h, and at which place of it."""

    kind: str
    index: int


@dataclass(frozen=True)
class BlockStep:
    """A call of a layer's function, or a change of layout.

    Parameters
    ----------
    kind : str
        ``StepKind`` of segment_runtime.h.
    layer : int
        Of a call.
    operands : tuple of StepOperand
        What is written is the last one.
    channels, pixels : int
        Of a change of layout.
    """

    kind: str
    layer: int
    operands: tuple[StepOperand, ...]
    channels: int = 0
    pixels: int = 0


@dataclass
class BlockSteps:
    """Steps, constants as they are packed, and sizes of buffers in bytes."""

    steps: list[BlockStep] = field(default_factory=list)
    packs: list[PackRef] = field(default_factory=list)
    buffer_bytes: list[int] = field(default_factory=list)


def steps_of(block: BlockLayers) -> BlockSteps:
    """Order a block's layers, with buffers that are used again once nobody reads them."""
    return _Ordering(block).order()


class _Ordering:
    def __init__(self, block: BlockLayers) -> None:
        self._block = block
        self._made = BlockSteps()
        self._where: dict[TensorRef, StepOperand] = {}
        self._free: list[int] = []
        self._last_read = self._last_reads()

    def order(self) -> BlockSteps:
        for place, name in enumerate(self._block.inputs):
            self._where[TensorRef(self._resolved(name))] = StepOperand("OF_INPUT", place)
        for place, layer in enumerate(self._block.layers):
            self._add(place, layer)
            self._release(place)
        return self._made

    def _resolved(self, name: str) -> str:
        return self._block.same.get(name, name)

    def _last_reads(self) -> dict[str, int]:
        """By tensor, the last layer that reads it in any layout."""
        found: dict[str, int] = {}
        for place, layer in enumerate(self._block.layers):
            found[layer.makes.name] = place
            for ref in layer.reads:
                if isinstance(ref, TensorRef):
                    found[ref.name] = place
        return found

    def _add(self, place: int, layer: Layer) -> None:
        reads = tuple(self._operand(ref) for ref in layer.reads)
        output = self._output_of(layer.makes)
        if output is None or layer.makes.sliced:
            target = self._buffer(layer.makes)
        else:
            target = self._where[layer.makes] = output
        self._made.steps.append(BlockStep("CALL", place, (*reads, target)))
        if output is not None and layer.makes.sliced:
            self._change("FROM_SLICES", layer.makes.name, target, output)

    def _operand(self, ref: TensorRef | PackRef) -> StepOperand:
        if isinstance(ref, PackRef):
            if ref not in self._made.packs:
                self._made.packs.append(ref)
            return StepOperand("OF_PACK", self._made.packs.index(ref))
        if ref not in self._where:  # in the other layout only: what is sliced is made of an input
            plain = self._where[TensorRef(ref.name)]
            self._change("TO_SLICES", ref.name, plain, self._buffer(ref))
        return self._where[ref]

    def _change(self, kind: str, name: str, source: StepOperand, made: StepOperand) -> None:
        _, channels, height, width = self._block.shapes[name]
        step = BlockStep(kind, -1, (source, made), channels, height * width)
        self._made.steps.append(step)

    def _output_of(self, ref: TensorRef) -> StepOperand | None:
        names = [self._resolved(name) for name in self._block.outputs]
        return StepOperand("OF_OUTPUT", names.index(ref.name)) if ref.name in names else None

    def _buffer(self, ref: TensorRef) -> StepOperand:
        """Room for a tensor: the smallest free one that is large enough, else the largest grows."""
        needed = self._bytes(ref)
        sizes = self._made.buffer_bytes
        fitting = [own for own in self._free if sizes[own] >= needed]
        if fitting:
            own = min(fitting, key=lambda index: sizes[index])
        elif self._free:
            own = max(self._free, key=lambda index: sizes[index])
        else:
            own = len(sizes)
            sizes.append(needed)
        if own in self._free:
            self._free.remove(own)
        sizes[own] = max(sizes[own], needed)
        self._where[ref] = StepOperand("OF_BUFFER", own)
        return self._where[ref]

    def _bytes(self, ref: TensorRef) -> int:
        shape = self._block.shapes[ref.name]
        count = math.prod(shape)
        if ref.sliced:
            count = slices(shape[1]) * SLICE * math.prod(shape[2:])
        return -(-count * _FLOAT // _ALIGNMENT) * _ALIGNMENT

    def _release(self, place: int) -> None:
        """Buffers of what no later layer reads are free."""
        for ref, operand in list(self._where.items()):
            if operand.kind == "OF_BUFFER" and self._last_read.get(ref.name, -1) <= place:
                self._free.append(operand.index)
                del self._where[ref]
