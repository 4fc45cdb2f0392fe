"""Which segment of a plan makes a wrong tensor of right inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from surplus.engine.contest.answers import Expected
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.model_file import parse
from surplus.engine.native import open_session
from surplus.engine.profiling.calibrate import initial_values
from surplus.engine.runtime.segment_files import segment_file
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.values import from_value


def wrong_segment(graph: Graph, plan: Plan, inputs: Mapping[str, Any]) -> str:
    """Its name and the tensor, as the end of a message; empty where none can be told.

    Each segment is run alone on what the whole model has at its inputs, nothing of that optimised.
    """
    if plan.shards > 1:
        return ""
    try:
        right = _right_tensors(graph, plan, inputs)
        for segment in sorted(plan.segments, key=lambda s: s.rank):
            name = _wrong_tensor(graph, plan, segment, right)
            if name:
                return f"; segment {segment.name!r} makes tensor {name!r} wrong"
    except Exception as error:  # a diagnosis must not be what fails
        return f"; no segment can be blamed: {error}"
    return "; each of its segments alone is right on the CPU"


def _right_tensors(graph: Graph, plan: Plan, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all tensors that cross a segment's boundary."""
    values = initial_values(graph, inputs)
    names = {name for s in plan.segments for name in (*s.inputs, *s.outputs)} - values.keys()
    model = parse(graph.model_path)
    known = {value.name for value in model.graph.output}
    made = {name for node in model.graph.node for name in node.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names & made - known)
    session = open_session(
        model.SerializeToString(), level="disable_all", weights_folder=graph.folder
    )
    fed: dict[str, Any] = {n: values[n] for n in session.input_names if n in values}
    found = zip(session.output_names, session.run(fed), strict=True)
    return {**values, **dict(found)}


def _wrong_tensor(graph: Graph, plan: Plan, segment: Segment, right: Mapping[str, Any]) -> str:
    """The output of a segment that is not what the whole model has there; empty if all are."""
    file = segment_file(graph, segment, whole=len(plan.segments) == 1)
    session = open_session(str(file))
    outputs = [name for name in segment.outputs if name in right]
    found = session.run({name: right[name] for name in session.input_names}, outputs)
    expected = Expected({name: from_value(right[name]) for name in outputs}, tuple)
    apart = expected.against(dict(zip(outputs, map(from_value, found), strict=True)))
    return apart.output if apart.is_beyond else ""
