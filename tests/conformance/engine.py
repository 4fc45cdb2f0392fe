"""Which cases the engine passes: ``tests.conformance.engine`` CASES OUT DEVICES HOW CACHE.

HOW is ``whole`` (one segment) or a seed (every task a segment on a random device). A process of
its own, so that a crash is an outcome and not the end of the tests.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from tests.conformance.cases import Case, load
from tests.constant_costs import constant_problem, scattered_plan, whole_plan


def failure(case: Case, devices: str, how: str, cache: Path) -> str:
    """Why the engine fails a case; empty if it passes."""

    def run(inputs: dict[str, Any]) -> list[Any]:
        graph = _graph(case, cache)
        specs = parse_devices(devices)
        outputs = PlannedModel(graph, _plan(graph, devices, how), machine_for(specs)).run(inputs)
        return [outputs[graph.tensors[i].name] for i in graph.outputs]

    return case.fails(run)


def _graph(case: Case, cache: Path) -> Graph:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(case.model)
        return read(path, cache)


def _plan(graph: Graph, devices: str, how: str) -> Plan:
    problem = constant_problem(graph, parse_devices(devices))
    if how == "whole":
        return whole_plan(graph, problem)
    return scattered_plan(graph, problem, int(how))


def main(cases: Path, out: Path, devices: str, how: str, cache: Path) -> None:
    """Write a line of JSON for each case, so that the case that crashes is known."""
    with out.open("w") as file:
        for case in load(cases):
            line = json.dumps([case.name, failure(case, devices, how, cache)])
            print(line, file=file, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], Path(sys.argv[5]))
