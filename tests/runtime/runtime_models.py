"""Tiny models as text, made ready with every task a segment of its own or all in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.segmenter import per_task
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, plan_of_groups, whole_plan
from tests.device_lists import devices_or

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'
NEVER_NS = 3_600_000_000_000
"""A segment that takes this long is still running whenever a test looks."""

ADD = "add (float[n, 3] x, float[3] shift) => (float[n, 3] y) { t = Neg(x)  y = Add(t, shift) }"
ADDED = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "shift": np.ones(3, np.float32)}
SUM = -ADDED["x"] + ADDED["shift"]

TWO_LANES = parse_devices("cpu:2")


def read_text(text: str, folder: Path) -> Graph:
    """The graph of a model in ONNX's text form, without its header."""
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return read_model(path, folder / "cache")


def model_of(
    graph: Graph,
    devices: str | None = None,
    *,
    whole: bool = False,
    service_ns: int = 1_000,
    emulation: EmulationParams | None = None,
) -> PlannedModel:
    """Tasks on the devices in turn, or all in one segment."""
    specs = parse_devices(devices or devices_or("cpu:1"))
    problem = constant_problem(graph, specs)
    turns = tuple(
        i % len(specs) if task.service_ns[i % len(specs)] is not None else 0
        for i, task in enumerate(problem.tasks)
    )
    placement = Placement(turns, tuple(range(len(turns))), "in turn")
    if whole:
        plan = whole_plan(graph, problem)
    else:
        plan = plan_of_groups(graph, per_task(problem, placement), "in turn")
    charged = tuple(replace(segment, service_ns=service_ns) for segment in plan.segments)
    return PlannedModel(graph, replace(plan, segments=charged), machine_for(specs, emulation))
