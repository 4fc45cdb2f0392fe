"""Lanes of the CPU as ONNX Runtime's streams: which nodes run one after another, and which beside.

References
----------
ONNX Runtime, ``session.node_partition_config_file`` (onnxruntime/core/framework/
allocation_planner.cc, ``DeviceBasedPartitioner``): JSON with its type, the nodes' names of each
stream, and the type of each stream's device, 0 for a CPU. Every node of the optimised graph has to
be named.
"""

from __future__ import annotations

import json

from surplus.engine.dfg.captures import sub_graphs
from surplus.engine.emit.emitted import Placed
from surplus.placement.stored_schedule import schedule_rows

_TYPE = "DeviceBasedPartitioner"
_CPU = "0"


def why_no_streams(placed: Placed) -> str:
    """Why a plan has no file of streams; empty if it has."""
    if len(placed.used) > 1 or placed.used != (placed.problem.devices[0].name,):
        return (
            "there is no file of streams: it would have to name the copies that ONNX Runtime puts"
            " between devices, so each device keeps the one stream that it has by itself"
        )
    if placed.problem.devices[0].lanes < 2:
        return "there is no file of streams: the plan has one lane"
    if any(True for task in placed.graph.tasks for _ in sub_graphs(task.node)):
        return (
            "there is no file of streams: the model has branches or loops with graphs of their own"
        )
    return ""


def streams_json(placed: Placed) -> str:
    """The file: a stream for each lane that runs a task."""
    rows = schedule_rows(placed.problem, placed.placement, placed.timeline)["tasks"]
    lanes: dict[int, list[str]] = {}
    for row in sorted(rows, key=lambda row: (row["start_ns"], row["priority"])):
        lanes.setdefault(row["lanes"][0], []).append(row["name"])
    streams = [lanes[lane] for lane in sorted(lanes)]
    return json.dumps({"type": _TYPE, "streams": streams, "devices": [_CPU] * len(streams)})
