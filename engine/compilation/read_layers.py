"""Operators of a graph as layers that there are templates for."""

from __future__ import annotations

import math

from surplus.engine.compilation.growth import Grown, Growth, OtherReading, grown
from surplus.engine.compilation.layer import BlockLayers, Layer, PackRef, TensorRef
from surplus.engine.compilation.node import Node, item_shape
from surplus.engine.compilation.program import ELEMENTWISE, OVER_ROWS
from surplus.engine.compilation.works import (
    SLICE,
    Batched,
    Convolution,
    Dense,
    Rowwise,
    Turned,
)
from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import NotCompiledError

LEAST_CHANNELS = 8
"""Below, most of a slice of 16 would be zeros: an image's three channels stay with a session."""
Reads = tuple[TensorRef | PackRef, ...]
ANCHORS = frozenset({"Conv", "MatMul"})


def read_layers(graph: Graph, first: int, end: int) -> BlockLayers:
    """Tasks ``first <= i < end`` as layers.

    Raises
    ------
    NotCompiledError
        If there is no template for one of them; the message names it.
    """
    return _Reader(graph, first, end).read()


def readable_end(graph: Graph, first: int) -> int:
    """The first task from one on that cannot be read; that one if it cannot."""
    reader, task = _Reader(graph, first, len(graph.tasks)), first
    try:
        while task < len(graph.tasks):
            task = reader.next(task)
    except NotCompiledError:
        pass
    return task


class _Reader:
    def __init__(self, graph: Graph, first: int, end: int) -> None:
        self._graph = graph
        self._first, self._end = first, end
        self._layers: list[Layer] = []
        self._same: dict[str, str] = {}

    def read(self) -> BlockLayers:
        task = self._first
        while task < self._end:
            task = self.next(task)
        tasks = range(self._first, self._end)
        inputs = tuple(boundary_inputs(self._graph, tasks))
        outputs = tuple(boundary_outputs(self._graph, tasks))
        made = (self._graph.tensors[t].name for k in tasks for t in self._graph.tasks[k].outputs)
        shapes = {name: self._shape(name) for name in (*inputs, *made)}
        return BlockLayers(
            self._first, self._end, inputs, outputs, tuple(self._layers), shapes, self._same
        )

    def next(self, task: int) -> int:
        """Make a layer of a task and what goes with it; the first task behind."""
        node = Node(self._graph, task)
        if node.operator != "Reshape":  # whose shape is one of integers
            node.need_float()
        if node.operator == "Conv":
            return self._convolution(node)
        if node.operator == "MatMul":
            return self._product(node)
        if node.operator in ELEMENTWISE | OVER_ROWS:
            return self._rowwise(node)
        if node.operator == "Transpose":
            return self._turned(node)
        if node.operator == "Reshape" and node.is_constant(node.inputs[1]):
            return self._reshaped(node)
        raise node.refused("there is no template for it")

    def _shape(self, name: str) -> tuple[int, ...]:
        return item_shape(self._graph, name)

    def _resolved(self, name: str) -> str:
        return self._same.get(name, name)

    def _plain(self, name: str) -> TensorRef:
        return TensorRef(self._resolved(name))

    def _convolution(self, node: Node) -> int:
        work = self._bare_convolution(node)

        def other(reader: Node, name: str) -> tuple[str, tuple[int, ...]]:
            if reader.is_constant(name) or self._shape(name) != self._shape(node.output):
                raise reader.refused("behind a convolution it reads another shape")
            return "tensor", self._shape(name)

        own = self._grown(node, other)
        window = math.prod(work.kernel)
        kind = "DEPTHWISE" if work.depthwise else "CONVOLUTION"
        ins = 1 if work.depthwise else work.channels
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        reads: Reads = (
            TensorRef(self._resolved(node.inputs[0]), sliced=True),
            PackRef(kind, node.inputs[1], work.outs, ins, window),
            PackRef("PADDED" if bias else "ZEROS", bias, work.outs),
            *(TensorRef(self._resolved(name), sliced=True) for name in own.tensors),
        )
        sizes = (work.channels, work.outs, work.size, work.kernel, work.strides, work.pads)
        made = Convolution(*sizes, work.depthwise, own.program)
        self._layers.append(Layer(node.name, made, reads, TensorRef(own.result, sliced=True)))
        return own.end

    def _bare_convolution(self, node: Node) -> Convolution:
        if not all(map(node.is_constant, node.inputs[1:])):
            raise node.refused("its weights are computed")
        shape, weights = self._shape(node.inputs[0]), node.dims(node.inputs[1])
        attributes = node.attributes
        if len(shape) != 4 or shape[1] < LEAST_CHANNELS:
            raise node.refused(f"it has no image of {LEAST_CHANNELS} channels: {shape}")
        groups = attributes.get("group", 1)
        depthwise = groups == shape[1] == weights[0]
        if groups != 1 and not depthwise:
            raise node.refused(f"it has {groups} groups")
        if set(attributes.get("dilations", [1])) != {1}:
            raise node.refused("it is dilated")
        if attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
            raise node.refused("its padding is not said in numbers")
        down, across = attributes.get("strides", [1, 1])
        top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
        return Convolution(
            shape[1],
            weights[0],
            (shape[2], shape[3]),
            (weights[2], weights[3]),
            (down, across),
            (top, left, bottom, right),
            depthwise,
        )

    def _product(self, node: Node) -> int:
        if node.is_constant(node.inputs[1]):
            return self._dense(node)
        left, right = (self._shape(name) for name in node.inputs)
        if len(left) < 3 or len(left) != len(right) or left[:-2] != right[:-2] or right[-1] % SLICE:
            raise node.refused(f"no product of heads: {left} and {right}")
        made = self._shape(node.output)

        def other(reader: Node, name: str) -> tuple[str, tuple[int, ...]]:
            if reader.is_constant(name):
                raise reader.refused("behind a product of heads it reads a constant")
            shape = self._shape(name)
            ends = zip(shape, made, strict=False)
            if len(shape) != 4 or any(own not in (1, extent) for own, extent in ends):
                raise reader.refused("behind a product of heads it reads another shape")
            return "tensor", shape[1:]

        own = self._grown(node, other)
        count = math.prod(left[:-2])
        work = Batched(count, left[-2], left[-1], right[-1], own.program)
        reads = tuple(self._plain(name) for name in (*node.inputs, *own.tensors))
        self._layers.append(Layer(node.name, work, reads, TensorRef(own.result)))
        return own.end

    def _dense(self, node: Node) -> int:
        shape, weights = self._shape(node.inputs[0]), node.dims(node.inputs[1])
        if len(weights) != 2 or weights[1] % SLICE:
            raise node.refused(f"its constant is no matrix of so many slices of {SLICE}: {weights}")
        rows, (ins, outs) = math.prod(shape[:-1]), weights
        own = self._grown(node, self._beside_rows(self._shape(node.output)))
        program = own.program
        work = Dense(rows, ins, outs, program)
        reads: Reads = (
            self._plain(node.inputs[0]),
            PackRef("DENSE", node.inputs[1], outs, ins),
            *(PackRef("AS_IS", name, outs) for name in own.vectors),
            *(self._plain(name) for name in own.tensors),
        )
        self._layers.append(Layer(node.name, work, reads, TensorRef(own.result)))
        return own.end

    def _rowwise(self, node: Node) -> int:
        dims = self._shape(next(name for name in node.inputs if not node.is_constant(name)))
        growth = Growth(self._graph, "", self._beside_rows(dims, may_be_one=True))
        rest = range(node.task, self._end)
        own = grown(growth, self._graph, [], rest, ELEMENTWISE | OVER_ROWS)
        if self._shape(own.result) != dims:
            raise node.refused("what is made of its rows has another shape")
        reads: Reads = (
            *(self._plain(name) for name in own.tensors),
            *(PackRef("AS_IS", name, dims[-1]) for name in own.vectors),
        )
        layer = Layer(node.name, Rowwise(dims, own.program), reads, TensorRef(own.result))
        self._layers.append(layer)
        return own.end

    def _beside_rows(self, dims: tuple[int, ...], may_be_one: bool = False) -> OtherReading:
        """What a program over rows of these dimensions may read."""

        def other(reader: Node, name: str) -> tuple[str, tuple[int, ...]]:
            if reader.is_constant(name):
                own = reader.dims(name)
                if own[-1:] != dims[-1:] or math.prod(own) != dims[-1]:
                    raise reader.refused(f"its constant is no row of {dims[-1]}: {own}")
                return "vector", own
            shape = self._shape(name)
            is_one_row = may_be_one and shape[-1] == dims[-1] == math.prod(shape)
            if shape != dims and not is_one_row:
                raise reader.refused(f"it reads {shape} beside {dims}")
            return "tensor", (1, shape[-1]) if shape != dims else dims

        return other

    def _grown(self, node: Node, other: OtherReading) -> Grown:
        growth = Growth(self._graph, node.output, other)
        rest = range(node.task + 1, self._end)
        return grown(growth, self._graph, [node.task], rest, ELEMENTWISE)

    def _reshaped(self, node: Node) -> int:
        """Nothing is moved: the same numbers under another name."""
        before, after = self._shape(node.inputs[0]), self._shape(node.output)
        if math.prod(before) != math.prod(after):
            raise node.refused(f"it mixes the items of a batch: {before} and {after}")
        self._same[node.output] = self._resolved(node.inputs[0])
        return node.task + 1

    def _turned(self, node: Node) -> int:
        dims = self._shape(node.inputs[0])
        axes = node.attributes.get("perm")
        if not axes or axes[0] != 0:
            raise node.refused("it moves the batch")
        work = Turned(dims[1:], tuple(axis - 1 for axis in axes[1:]))
        reads = (self._plain(node.inputs[0]),)
        self._layers.append(Layer(node.name, work, reads, TensorRef(node.output)))
        return node.task + 1
