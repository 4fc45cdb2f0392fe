"""The single-thread oracle: a plan's segments one after another, without the scheduler.

What the core answers must be the same bits as what this answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.segment_files import segment_file
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.engine.values import to_value


def run_reference(graph: Graph, plan: Plan, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one query in topological order; values are freed at their last use.

    Parameters
    ----------
    inputs : mapping of str to array
        Every input of the graph by name, defaults included.
    """
    graph = planned_graph(graph, plan)
    types = {t.name: t.elem_type or None for t in (graph.tensors[i] for i in graph.inputs)}
    values = {name: to_value(array, types[name]) for name, array in inputs.items()}
    last_use = {name: i for i, segment in enumerate(plan.segments) for name in segment.inputs}
    kept = {graph.tensors[i].name for i in graph.outputs}
    for i, segment in enumerate(plan.segments):
        run_segment(graph, plan, segment, values)
        for name in segment.inputs:
            if last_use[name] == i and name not in kept:
                values.pop(name, None)
    return Ports(graph).arrays(values, [name for name in kept if name in values])


def run_segment(graph: Graph, plan: Plan, segment: Segment, values: dict[str, _core.Value]) -> None:
    """Add what a segment makes to the values by name, which hold what it takes.

    Parameters
    ----------
    graph : Graph
        The planned one.
    """
    file = segment_file(graph, segment, whole=len(plan.segments) == 1)
    session = _core.Session(str(file), width=segment.width)
    made = session.run({name: values[name] for name in segment.inputs}, segment.outputs)
    values.update(zip(segment.outputs, made, strict=True))
