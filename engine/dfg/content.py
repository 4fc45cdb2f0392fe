"""The content of a data-flow graph: tasks, the tensors between them, the model that holds them.

A task is a node of the model after ONNX Runtime's basic optimisation; control-flow nodes stay
whole and what their bodies capture from outside counts as an input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from surplus.engine.dfg.graph_tensor import GraphTensor

if TYPE_CHECKING:
    import onnx


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
