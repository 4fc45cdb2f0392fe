"""The axis of each tensor that carries the batch: what may be computed for some rows alone.

A tensor *carries the batch* along an axis if running the model on rows [i, j) of its inputs gives
exactly the stretch [i, j) of it along that axis, each row being ``per_row`` neighbouring entries.
Rules by operator (batch_rules.py, shape_rules.py) pass this on from the model's inputs. An
operator without a rule, one that mixes rows, or a size that only a query tells ends it: what
follows needs the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surplus.engine.dfg import batch_rules, shape_rules
from surplus.engine.dfg.batch_question import RULES, Operand, Question, Rows
from surplus.engine.dfg.content import GraphTask
from surplus.engine.dfg.graph import Graph, ValueKind

__all__ = ["BatchAxes", "batch_axes", "propagate"]

_FAMILIES = (batch_rules, shape_rules)
"""Importing them has registered their rules."""

OLDEST_OPSET = 13
"""Before it operators took as attributes what now are inputs, and Softmax had another meaning."""


@dataclass(frozen=True)
class BatchAxes:
    """What a graph's tensors and tasks have to do with the batch.

    Parameters
    ----------
    batch : int
        Rows of a query.
    rows : mapping of int to Rows
        By tensor index, of those that carry the batch.
    by_row : tuple of int
        Tasks that can be run for some rows alone, ascending.
    shared : tuple of int
        Tasks that do not depend on the batch.
    after : tuple of int
        Tasks that need the whole batch.
    """

    batch: int
    rows: Mapping[int, Rows]
    by_row: tuple[int, ...]
    shared: tuple[int, ...]
    after: tuple[int, ...]


def batch_axes(graph: Graph) -> BatchAxes | None:
    """Find the batch: of all ways to see one in the inputs' sizes, the one that goes furthest.

    Returns
    -------
    BatchAxes or None
        None if no task can be run for some rows alone.
    """
    if opset_of(graph) < OLDEST_OPSET:
        return None
    found = [propagate(graph, batch, rows) for batch, rows in _ways(graph)]
    best = max(found, key=lambda axes: len(axes.by_row), default=None)
    return best if best is not None and best.by_row else None


def opset_of(graph: Graph) -> int:
    """Version of the standard operators; 0 if it imports none."""
    imports = graph.model.opset_import
    return next((int(i.version) for i in imports if i.domain in ("", "ai.onnx")), 0)


def _ways(graph: Graph) -> list[tuple[int, dict[int, Rows]]]:
    """Each size of more than 1 that inputs have on their first or second axis."""
    ways: list[tuple[int, dict[int, Rows]]] = []
    shapes = {i: shape for i in graph.inputs if (shape := _fixed(graph, i)) is not None}
    for axis in (0, 1):
        sizes = dict.fromkeys(shape[axis] for shape in shapes.values() if len(shape) > axis)
        for size in sizes:
            if size > 1:
                rows = {
                    index: Rows(axis)
                    for index, shape in shapes.items()
                    if len(shape) > axis and shape[axis] == size
                }
                ways.append((size, rows))
    return ways


def _fixed(graph: Graph, index: int) -> tuple[int, ...] | None:
    """A tensor's shape, if it is the same for all queries."""
    tensor = graph.tensors[index]
    if tensor.kind is not ValueKind.TENSOR or tensor.shape is None or not tensor.elem_type:
        return None
    sizes = tuple(dim for dim in tensor.shape if isinstance(dim, int) and dim > 0)
    return sizes if len(sizes) == len(tensor.shape) else None


def propagate(graph: Graph, batch: int, given: Mapping[int, Rows]) -> BatchAxes:
    """Follow the batch through the graph.

    Parameters
    ----------
    given : mapping of int to Rows
        Where inputs of the graph carry it, by tensor index; others are the same for all rows.
    """
    rows = dict(given)
    whole: set[int] = set()  # tensors that only the whole batch gives
    tasks: dict[str, list[int]] = {"by_row": [], "shared": [], "after": []}
    for index, task in enumerate(graph.tasks):
        if whole.intersection(task.inputs):
            kind, found = "after", None
        elif not any(i in rows for i in task.inputs):
            kind, found = "shared", None
        else:
            found = _asked(graph, task, batch, rows)
            kind = "after" if found is None else "by_row"
        tasks[kind].append(index)
        if kind == "after":
            whole.update(task.outputs)
        if found is not None:
            rows |= dict.fromkeys(task.outputs, found)
    return BatchAxes(batch, rows, *(tuple(tasks[kind]) for kind in ("by_row", "shared", "after")))


def _asked(graph: Graph, task: GraphTask, batch: int, rows: Mapping[int, Rows]) -> Rows | None:
    """What the operator's rule says, if it has one and all sizes are known."""
    answer = RULES.get(task.op_type)
    shapes = [_fixed(graph, index) for index in (*task.inputs, *task.outputs)]
    if answer is None or task.is_control_flow or None in shapes:
        return None
    inputs = tuple(_operand(graph, name, rows) for name in task.node.input)
    outputs = tuple(_output_shape(graph, name) for name in task.node.output)
    found = answer(Question(task.node, inputs, outputs, batch, graph.folder))
    if found is None or not _fits(found, outputs, batch):
        return None
    return found


def _operand(graph: Graph, name: str, rows: Mapping[int, Rows]) -> Operand | None:
    if not name:
        return None
    index = graph.tensor_index.get(name)
    if index is not None:
        return Operand(_fixed(graph, index) or (), rows.get(index))
    constant = graph.initializers.get(name)
    if constant is None:
        return Operand(tuple(graph.sparse_initializers[name].dims))
    return Operand(tuple(constant.dims), None, constant)


def _output_shape(graph: Graph, name: str) -> tuple[int, ...]:
    return (_fixed(graph, graph.tensor_index[name]) or ()) if name else ()


def _fits(rows: Rows, outputs: Sequence[tuple[int, ...]], batch: int) -> bool:
    """Whether every output has that axis with so many entries: a check on rules and sizes."""
    shapes = [shape for shape in outputs if shape]
    return bool(shapes) and all(
        len(shape) > rows.axis >= 0 and shape[rows.axis] == batch * rows.per_row for shape in shapes
    )
