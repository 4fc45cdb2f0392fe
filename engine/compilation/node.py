"""What an operator of a graph says: its attributes, its constants, the shapes of its tensors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from surplus.engine.dfg.constants import array_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import NotCompiledError


class Node:
    """A task of a graph, as those who compile it look at it."""

    def __init__(self, graph: Graph, task: int) -> None:
        self._graph = graph
        self.task = task
        self.name = graph.tasks[task].name
        self._node: onnx.NodeProto = graph.tasks[task].node
        self.operator: str = self._node.op_type
        self.inputs = tuple(self._node.input)
        self.output: str = self._node.output[0]
        if len(self._node.output) != 1 or self._node.domain not in ("", "ai.onnx"):
            raise self.refused("it is no plain operator with one output")

    def refused(self, why: str) -> NotCompiledError:
        """What to raise."""
        return NotCompiledError(f"operator {self.name!r} ({self._node.op_type}): {why}")

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """By name."""
        return {a.name: onnx.helper.get_attribute_value(a) for a in self._node.attribute}

    def is_constant(self, name: str) -> bool:
        """Whether an input is a constant of the model, which nobody can feed."""
        return name in self._graph.initializers and name not in self._graph.default_inputs

    def constant(self, name: str) -> np.ndarray[Any, Any]:
        """Its value."""
        return array_of(self._graph.initializers[name], self._graph.folder)

    def dims(self, name: str) -> tuple[int, ...]:
        """Dimensions of a constant, without its value."""
        return tuple(self._graph.initializers[name].dims)

    def is_scalar(self, name: str) -> bool:
        """Whether an input is a constant of one number."""
        return self.is_constant(name) and math.prod(self.dims(name)) == 1

    def scalar(self, name: str) -> float:
        """That number."""
        return float(self.constant(name).reshape(-1)[0])

    def need_float(self) -> None:
        """Refuse tensors of other types.

        Raises
        ------
        NotCompiledError
        """
        graph = self._graph
        names = [name for name in (*self.inputs, self.output) if name in graph.tensor_index]
        kinds = {graph.tensors[graph.tensor_index[name]].elem_type for name in names}
        if kinds - {onnx.TensorProto.FLOAT}:
            raise self.refused("its tensors are not float")


def item_shape(graph: Graph, name: str) -> tuple[int, ...]:
    """Dimensions of a tensor of one item; the first is the batch's.

    Raises
    ------
    NotCompiledError
        If they are not known, or the batch is more than one.
    """
    if name not in graph.tensor_index:
        raise NotCompiledError(f"{name!r} is a constant, where a tensor is wanted")
    shape = graph.tensors[graph.tensor_index[name]].shape
    if not shape or any(not isinstance(extent, int) for extent in shape[1:]):
        raise NotCompiledError(f"tensor {name!r}: its shape is not known: {shape}")
    first = shape[0]
    if isinstance(first, int) and first != 1:
        raise NotCompiledError(f"tensor {name!r}: it is not of one item: {shape}")
    return (1, *(int(extent) for extent in shape[1:] if isinstance(extent, int)))
