"""Resident memory in a process of its own: ``python memory_probe.py MODEL INPUTS WHAT DEVICES``.

WHAT is ``steady``: after a warm-up and after many more queries; or a number of segments: after
loading the model cut into as many and a few queries, less what was there before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))


import numpy as np

from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, scattered_plan, sliced_plan

WARM_UP = 3_000
QUERIES = 10_000
IN_FLIGHT = 10
FEW = 5


def steady(path: Path, inputs: dict[str, Any], devices: str) -> list[int]:
    """Bytes after the warm-up, and after the queries."""
    graph = read_model(path, path.parent / "cache")
    specs = parse_devices(devices)
    plan = scattered_plan(graph, constant_problem(graph, specs), seed=0)
    model = PlannedModel(graph, plan, machine_for(specs))
    found = []
    for count in (WARM_UP, QUERIES):
        for _ in range(count // IN_FLIGHT):
            for future in [model.submit(inputs) for _ in range(IN_FLIGHT)]:
                future.result()
        found.append(resident_bytes())
    return found


def held(path: Path, inputs: dict[str, Any], segments: int, devices: str) -> list[int]:
    """Bytes before the model is prepared, and with it after a few queries."""
    graph = read_model(path, path.parent / "cache")
    specs = parse_devices(devices)
    plan = sliced_plan(graph, constant_problem(graph, specs), segments)
    machine = machine_for(specs)
    before = resident_bytes()
    model = PlannedModel(graph, plan, machine)
    for _ in range(FEW):
        model.run(inputs)
    return [before, resident_bytes()]


def main(path: str, inputs: str, what: str, devices: str) -> None:
    """Print two numbers as JSON."""
    with np.load(inputs) as arrays:
        given = {name: arrays[name] for name in arrays.files}
    if what == "steady":
        print(json.dumps(steady(Path(path), given, devices)))
    else:
        print(json.dumps(held(Path(path), given, int(what), devices)))


if __name__ == "__main__":
    main(*sys.argv[1:])
