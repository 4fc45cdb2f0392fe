"""What a data-flow graph is made of: tasks, the tensors between them, the model that holds them.

A task is a node of the model after ONNX Runtime's basic optimisation; control-flow nodes stay
whole and what their bodies capture from outside counts as an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

Dim = int | str | None
"""A fixed size, a named dynamic dimension, or one that nothing is known of."""


def is_open(shape: Sequence[Dim] | None) -> bool:
    """Whether a shape leaves a size to the query, or is unknown."""
    return shape is None or any(not isinstance(d, int) or d < 0 for d in shape)


class ValueKind(StrEnum):
    """What a value is; anything but a tensor never crosses devices."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    OPTIONAL = "optional"
    MAP = "map"
    SPARSE = "sparse"


@dataclass(frozen=True)
class GraphTensor:
    """A value between tasks, or an input of the graph. Initializers are not tensors.

    Parameters
    ----------
    name : str
        The value's name in the model, unique.
    producer : int
        Task index, or -1 for a graph input.
    consumers : tuple of int
        Tasks that read it or capture it, distinct and ascending.
    elem_type : int
        ``onnx.TensorProto.DataType`` of its elements; 0 where unknown.
    shape : tuple of Dim, or None
        Static shape where inference found one; None means that even the rank is unknown.
    is_output : bool
        Whether it is an output of the graph.
    metadata_only : bool
        True if every consumer reads only its shape (Shape, Size): the edge carries no bytes.
    """

    name: str
    producer: int
    consumers: tuple[int, ...]
    elem_type: int
    shape: tuple[Dim, ...] | None
    kind: ValueKind = ValueKind.TENSOR
    is_output: bool = False
    metadata_only: bool = False

    @property
    def has_open_size(self) -> bool:
        """Whether its size is up to the query, or unknown."""
        return is_open(self.shape)


@dataclass(frozen=True)
class GraphTask:
    """One node.

    Parameters
    ----------
    name : str
        Unique within the graph, made up where the model's name is empty or a duplicate.
    node : onnx.NodeProto
        The node itself; its name is not changed.
    inputs : tuple of int
        Tensor indices that it reads, captures included, distinct, in order of appearance.
        Initializers and omitted optional inputs do not appear.
    outputs : tuple of int
        Tensor indices that it makes; omitted optional outputs do not appear.
    initializers : tuple of str
        Names of the constants that it reads, captures included.
    weight_bytes : int
        Their size.
    """

    name: str
    node: onnx.NodeProto
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    initializers: tuple[str, ...] = ()
    weight_bytes: int = 0

    @property
    def op_type(self) -> str:
        """Operator type, with its domain unless that is the standard one."""
        domain = self.node.domain
        return self.node.op_type if domain in ("", "ai.onnx") else f"{domain}.{self.node.op_type}"

    @property
    def is_control_flow(self) -> bool:
        """Whether it holds a sub-graph (If, Loop, Scan, SequenceMap)."""
        return any(a.HasField("g") or len(a.graphs) for a in self.node.attribute)


@dataclass(frozen=True)
class Content:
    """What grows with the number of tasks.

    Parameters
    ----------
    tasks, tensors : tuple
        By index.
    inputs, outputs : tuple of int
        Tensor indices in the model's order.
    model : onnx.ModelProto
        The basic-optimised model. Large initializers are external data relative to its folder.
    """

    tasks: tuple[GraphTask, ...]
    tensors: tuple[GraphTensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    model: onnx.ModelProto

    @cached_property
    def default_inputs(self) -> tuple[str, ...]:
        """Inputs that have a default: an initializer of the same name."""
        held = _held(self.model.graph)
        return tuple(name for name in self._names(self.inputs) if name in held)

    @cached_property
    def constant_outputs(self) -> tuple[str, ...]:
        """Outputs that are initializers. An input that is passed through is not among them: it is
        an output whose producer is -1.
        """
        held = _held(self.model.graph) - set(self._names(self.inputs))
        return tuple(name for name in dict.fromkeys(self._names(self.outputs)) if name in held)

    def _names(self, indices: tuple[int, ...]) -> list[str]:
        return [self.tensors[index].name for index in indices]


def _held(graph: onnx.GraphProto) -> set[str]:
    """Names of all constants."""
    sparse = (tensor.values.name for tensor in graph.sparse_initializer)
    return {*(tensor.name for tensor in graph.initializer), *sparse}
