"""Memory over queries of changing sizes, in a process of its own.

``python dynamic_memory_probe.py MODEL KIND PLAN DEVICES``: prints, as JSON, bytes resident after
queries of the largest size alone, after a few of all sizes, after ``QUERIES`` more of these, and
the bytes of values that the machine still holds.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, scattered_plan, whole_plan
from tests.end_to_end.dynamic_models import DYNAMIC, Query

WARM_UP = 400
QUERIES = 2_000
IN_FLIGHT = 4
MORE_SIZES = 4
"""Beyond the sizes of the other tests: many shapes that the warm-up has not seen."""


def ask(model: PlannedModel, queries: Sequence[Query], count: int) -> int:
    """The given queries in turn, half of them several at once; resident bytes at the end."""
    for first in range(0, count, 2 * IN_FLIGHT):
        chosen = [queries[(first + i) % len(queries)] for i in range(2 * IN_FLIGHT)]
        futures = [model.submit(query) for query in chosen[::2]]
        for query in chosen[1::2]:
            model.run(query)
        for future in futures:
            future.result()
    del futures, future
    gc.collect()
    return resident_bytes()


def main(path: str, kind: str, plan: str, devices: str) -> None:
    """Print four numbers."""
    graph = read_model(path, Path(path).parent / "cache")
    specs = parse_devices(devices)
    problem = constant_problem(graph, specs)
    made = whole_plan(graph, problem) if plan == "whole" else scattered_plan(graph, problem, seed=0)
    charged = tuple(replace(segment, service_ns=1_000) for segment in made.segments)
    machine = machine_for(specs)
    model = PlannedModel(graph, replace(made, segments=charged), machine)
    dynamic = DYNAMIC[kind]
    queries = [dynamic.query(size) for size in range(dynamic.sizes * MORE_SIZES)]
    largest = max(queries, key=lambda query: sum(array.nbytes for array in query.values()))
    found = [ask(model, [largest], WARM_UP)]
    found += [ask(model, queries, count) for count in (WARM_UP, QUERIES)]
    while machine.stats()["runs_in_flight"]:
        pass
    print(json.dumps([*found, machine.stats()["live_bytes"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
