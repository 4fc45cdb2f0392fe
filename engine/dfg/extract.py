"""Cuts a set of tasks out of a graph as an ONNX model that shares the graph's weights."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from surplus.engine.dfg.constants import domains_used
from surplus.engine.dfg.empty_reductions import declared_type
from surplus.engine.dfg.exact_outputs import deliver_apart
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.join import PartialJoin
from surplus.engine.dfg.partial_join import joined_names, joined_type, joining_node
from surplus.engine.errors import ModelError


def extract(
    graph: Graph,
    tasks: Sequence[int],
    outputs: Sequence[str] | None = None,
    joins: Sequence[PartialJoin] = (),
) -> onnx.ModelProto:
    """A model of the given tasks.

    Its inputs are the tensors that they read and do not make (captures of control-flow bodies
    included), in order of appearance. Large weights stay external data relative to
    ``graph.folder``: store the model there, or hand that folder to the session.

    Parameters
    ----------
    tasks : sequence of int
        Task indices, in any order, at least one.
    outputs : sequence of str, optional
        Names to deliver. By default what others read or the graph delivers; if that is
        nothing, everything that the tasks make.
    joins : sequence of PartialJoin
        To make, where ``outputs`` names them, or to read, where the tasks hold their Concat.

    Raises
    ------
    ValueError
        If ``tasks`` is empty or an output is not made by them.
    ModelError
        If the type of a boundary value is unknown.
    """
    chosen = sorted(set(tasks))
    if not chosen:
        raise ValueError("extract: at least one task is needed")
    made = [t for i in chosen for t in graph.tasks[i].outputs]
    names = boundary_outputs(graph, chosen) if outputs is None else list(outputs)
    delivered = set(names)
    own = [join for join in joins if join.name in delivered]
    read = [join for join in joins if join.name not in delivered]
    read_by: dict[int, list[PartialJoin]] = {}
    for join in read:
        read_by.setdefault(join.task, []).append(join)
    foreign = delivered - {graph.tensors[t].name for t in made} - {join.name for join in own}
    if foreign:
        raise ValueError(f"extract: no chosen task makes {sorted(foreign)[0]!r}")
    model = _frame(graph)
    for i in chosen:
        node = model.graph.node.add()
        node.CopyFrom(graph.tasks[i].node)
        node.name = graph.tasks[i].name
        if i in read_by:
            node.input[:] = joined_names(node.input, read_by[i])
    model.graph.node.extend(joining_node(graph, join) for join in own)
    types = {join.name: joined_type(graph, join) for join in joins}
    inputs = joined_names(boundary_inputs(graph, chosen), read)
    model.graph.input.extend(_typed(graph, n, types.get(n)) for n in inputs)
    model.graph.output.extend(_output(graph, n, types.get(n)) for n in names)
    _add_constants(graph, {n for i in chosen for n in graph.tasks[i].initializers}, model)
    deliver_apart(model.graph)
    used = domains_used(model)
    model.opset_import.extend(
        i for i in graph.model.opset_import if ("" if i.domain == "ai.onnx" else i.domain) in used
    )
    return model


def boundary_inputs(graph: Graph, tasks: Sequence[int]) -> list[str]:
    """Tensors that the tasks read and do not make, in order of appearance."""
    made = {t for i in tasks for t in graph.tasks[i].outputs}
    needed = dict.fromkeys(t for i in sorted(tasks) for t in graph.tasks[i].inputs)
    return [graph.tensors[t].name for t in needed if t not in made]


def boundary_outputs(graph: Graph, tasks: Sequence[int]) -> list[str]:
    """Tensors that the tasks make and others read or the graph delivers; all if there is none."""
    inside = set(tasks)
    made = [graph.tensors[t] for i in sorted(tasks) for t in graph.tasks[i].outputs]
    used = [t.name for t in made if t.is_output or not inside.issuperset(t.consumers)]
    return used or [t.name for t in made]


def _frame(graph: Graph) -> onnx.ModelProto:
    model = onnx.ModelProto(ir_version=graph.model.ir_version)
    model.producer_name = "surplus"
    model.graph.name = graph.name
    model.functions.extend(graph.model.functions)
    return model


def _typed(graph: Graph, name: str, join: onnx.TypeProto | None) -> onnx.ValueInfoProto:
    kind = join or declared_type(graph, name)
    if kind is None or kind.WhichOneof("value") is None:
        raise ModelError(f"the type of value {name!r} is unknown")
    return onnx.ValueInfoProto(name=name, type=kind)


def _output(graph: Graph, name: str, join: onnx.TypeProto | None) -> onnx.ValueInfoProto:
    """Outputs may be declared without a type: the runtime infers them."""
    return onnx.ValueInfoProto(name=name, type=join or graph.value_types.get(name))


def _add_constants(graph: Graph, names: set[str], model: onnx.ModelProto) -> None:
    for name in sorted(names):
        if name in graph.initializers:
            model.graph.initializer.append(graph.initializers[name])
        else:
            model.graph.sparse_initializer.append(graph.sparse_initializers[name])
