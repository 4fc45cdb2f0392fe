"""Which operators go into one layer: an anchor and what follows it number by number."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple

from surplus.engine.compilation.node import Node
from surplus.engine.compilation.program import Instruction, LayerProgram, Reading
from surplus.engine.dfg.extract import boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import NotCompiledError

OtherReading = Callable[[Node, str], tuple[str, tuple[int, ...]]]
"""Of an operand that the layer does not make: ``vector`` or ``tensor``, and its dimensions."""


class Growth:
    """A program that grows by one operator after the other.

    Parameters
    ----------
    graph : Graph
    value : str
        Tensor that the program begins with; empty if it begins with none.
    other : callable
        See ``OtherReading``.
    """

    def __init__(self, graph: Graph, value: str, other: OtherReading) -> None:
        self._graph = graph
        self._other = other
        self._values = [value] if value else []
        self._instructions: list[Instruction] = []
        self.vectors: dict[str, None] = {}
        self.tensors: dict[str, tuple[int, ...]] = {}

    @property
    def result(self) -> str:
        """Tensor that the last instruction makes."""
        return self._values[-1]

    def program(self) -> LayerProgram:
        """What has grown."""
        tensors = tuple(self.tensors.values())
        return LayerProgram(tuple(self._instructions), len(self.vectors), tensors)

    def add(self, node: Node) -> None:
        """Compute one operator more.

        Raises
        ------
        NotCompiledError
            If it reads what the layer cannot.
        """
        node.need_float()
        names = [name for name in _operands(node) if name]
        self._instructions.append(
            Instruction(node.operator, tuple(self._reading(node, name) for name in names))
        )
        self._values.append(node.output)

    def is_closed(self, tasks: list[int]) -> bool:
        """Whether nobody else reads what these tasks make but their result."""
        return boundary_outputs(self._graph, tasks) == [self.result]

    def _reading(self, node: Node, name: str) -> Reading:
        if name in self._values:
            return Reading("value", self._values.index(name))
        if node.is_scalar(name):
            return Reading("scalar", node.scalar(name))
        kind, dims = self._other(node, name)
        if kind == "vector":
            self.vectors.setdefault(name)
            return Reading(kind, list(self.vectors).index(name))
        self.tensors.setdefault(name, dims)
        return Reading(kind, list(self.tensors).index(name))


def _operands(node: Node) -> tuple[str, ...]:
    """Inputs that are numbers to compute with, checked."""
    if node.operator == "Clip" and (len(node.inputs) != 3 or not all(node.inputs)):
        raise node.refused("its bounds are not both inputs")
    if node.operator == "Clip" and not all(map(node.is_scalar, node.inputs[1:])):
        raise node.refused("its bounds are computed")
    if node.operator == "Pow":
        exponent = node.inputs[1]
        if not node.is_scalar(exponent) or node.scalar(exponent) not in (0.5, 2.0):
            raise node.refused("its exponent is not 2 or 1/2")
    if node.operator in ("ReduceMean", "Softmax"):
        _check_last_axis(node)
        return node.inputs[:1]
    return node.inputs


def _check_last_axis(node: Node) -> None:
    axes = node.attributes.get("axes", [node.attributes.get("axis")])
    if len(node.inputs) > 1:
        axes = node.constant(node.inputs[1]).reshape(-1).tolist()
    if list(axes) != [-1] or not node.attributes.get("keepdims", 1):
        raise node.refused("it is not over the last axis alone, kept and counted from the end")


class Grown(NamedTuple):
    """A program, the constants and tensors that it reads, its result, the task behind it."""

    program: LayerProgram
    vectors: tuple[str, ...]
    tensors: tuple[str, ...]
    result: str
    end: int


def grown(growth: Growth, graph: Graph, tasks: list[int], rest: range, allowed: Set[str]) -> Grown:
    """Add operators as long as they fit; the longest program of which others read the result only.

    Parameters
    ----------
    tasks : list of int
        That are in it already: an anchor, or none.
    rest : range
        Tasks that could follow.
    allowed : set of str
        Operators that may.

    Raises
    ------
    NotCompiledError
        If there is no such program.
    """
    own = list(tasks)
    best = _grown(growth, own) if own and growth.is_closed(own) else None
    why = ""
    for task in rest:
        try:
            node = Node(graph, task)
            if node.operator not in allowed:
                break
            growth.add(node)
        except NotCompiledError as error:
            why = str(error)
            break
        own.append(task)
        if growth.is_closed(own):
            best = _grown(growth, own)
    if best is None:
        first = Node(graph, own[0] if own else rest.start)
        raise first.refused(why or "others read what is within its layer")
    return best


def _grown(growth: Growth, tasks: list[int]) -> Grown:
    names = (tuple(growth.vectors), tuple(growth.tensors))
    return Grown(growth.program(), *names, growth.result, tasks[-1] + 1)
