"""The data-flow graph (DFG) of an ONNX model: tasks and the tensors between them.

A task is a node of the model after ONNX Runtime's basic optimisation; control-flow nodes stay
whole and what their bodies capture from outside counts as an input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import onnx

from engine.dfg.empty_reductions import doubtful_ranks

Dim = int | str | None
"""A fixed size, a named dynamic dimension, or one that nothing is known of."""


class ValueKind(StrEnum):
    """What a value is; anything but a tensor never crosses devices."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    OPTIONAL = "optional"
    MAP = "map"
    SPARSE = "sparse"


@dataclass(frozen=True)
class Tensor:
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


@dataclass(frozen=True)
class Task:
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
class Graph:
    """A model as tasks in topological order and tensors.

    Parameters
    ----------
    name : str
        File stem of the model.
    tasks, tensors : tuple
        By index.
    inputs, outputs : tuple of int
        Tensor indices in the model's order. Inputs with a default (an initializer of the same
        name) are inputs too; ``default_inputs`` names them.
    model : onnx.ModelProto
        The basic-optimised model. Large initializers are external data relative to ``folder``.
    folder : Path
        Where ``model_path`` and the weights lie; memory-mapped by every session.
    model_path : Path
        The basic-optimised model as a file. Inputs with a default must be fed here, too.
    source_hash : str
        SHA-256 of the user's model including external data: the key of everything cached.
    """

    name: str
    tasks: tuple[Task, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    model: onnx.ModelProto
    folder: Path
    model_path: Path
    source_hash: str
    default_inputs: tuple[str, ...] = ()
    constant_outputs: tuple[str, ...] = field(default=())
    """Graph outputs that are initializers. An input that is passed through is not among them:
    it is an output whose producer is -1."""

    @cached_property
    def tensor_index(self) -> dict[str, int]:
        """Tensor name -> index."""
        return {tensor.name: index for index, tensor in enumerate(self.tensors)}

    @cached_property
    def value_types(self) -> dict[str, onnx.TypeProto]:
        """Value name -> type as the model states it, inputs and outputs included."""
        graph = self.model.graph
        return {v.name: v.type for v in (*graph.value_info, *graph.output, *graph.input)}

    @cached_property
    def initializers(self) -> dict[str, onnx.TensorProto]:
        """Constants by name, defaults of inputs included; data may be external to the model."""
        return {tensor.name: tensor for tensor in self.model.graph.initializer}

    @cached_property
    def sparse_initializers(self) -> dict[str, onnx.SparseTensorProto]:
        """Sparse constants by name."""
        return {tensor.values.name: tensor for tensor in self.model.graph.sparse_initializer}

    @cached_property
    def splits(self) -> dict[int, object]:
        """What batch_split.py has found for each number of shards, so that it looks once."""
        return {}

    @cached_property
    def doubtful_ranks(self) -> frozenset[int]:
        """Tensors that may have another rank than is stated, where a query is empty."""
        return doubtful_ranks(self)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that each task waits for, ascending."""
        return tuple(
            tuple(sorted({self.tensors[t].producer for t in task.inputs} - {-1}))
            for task in self.tasks
        )

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that wait for each task, ascending."""
        return tuple(
            tuple(sorted({c for t in task.outputs for c in self.tensors[t].consumers}))
            for task in self.tasks
        )
