"""The simulator's makespan against the measured one, for the plans that the engine chooses.

Service times come from traced queries, the measured makespan from untraced ones between them,
so that both see the same machine; the simulator adds queueing, lanes, widths and hand-overs.
The best plan of several segments is shown too, where one segment was chosen.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

from bench import result_file
from bench.built_models import FOLDER, built
from engine.pipeline.stages import (
    candidates,
    costs_of,
    example_inputs,
    measure,
    place,
    plan_of,
    read_model,
)
from engine.profiling.devices import parse_devices
from engine.runtime.machines import machine_for
from engine.runtime.model import Model
from engine.runtime.selection import service_times_ns
from engine.segmentation.coarse import predict
from engine.segmentation.segmenter import Candidate

NAMES = ("faster_rcnn", "mask_rcnn", "ssd", "ssd_per_class", "inception_v3", "dlrm", "fork_join")
ROUNDS = 12


def rows(name: str) -> list[dict[str, Any]]:
    """The best segmented plan and the whole model at full width."""
    path, _ = built(name)
    graph = read_model(path, FOLDER / "cache")
    specs = parse_devices(f"cpu:{len(os.sched_getaffinity(0))}")
    inputs = example_inputs(graph, path)
    costs = costs_of(graph, measure(graph, specs, inputs, FOLDER / "cache"), specs)
    ranked = candidates(costs, place(costs.problem, "comm_sd"))
    cut = next(c for c in ranked if not c.is_trivial)
    whole = next(c for c in ranked if c.is_trivial)
    found = []
    for candidate in (cut, whole):
        model = Model(graph, plan_of(graph, costs, candidate, "comm_sd"), machine_for(specs))
        found.append(_row(name, candidate, model, costs.service, inputs))
    return found


def _row(
    name: str, candidate: Candidate, model: Model, service: Any, inputs: dict[str, Any]
) -> dict[str, Any]:
    model.run(inputs)
    timelines, times = [], []
    for _ in range(ROUNDS):
        model.run(inputs, traced=True)
        timelines.append(model.timeline())
        start = time.perf_counter_ns()
        model.run(inputs)
        times.append(time.perf_counter_ns() - start)
    predicted = predict(candidate.graph, service, service_times_ns(timelines)).makespan_ns
    measured = statistics.median(times)
    return {
        "model": name,
        "plan": candidate.name,
        "segments": len(candidate.graph.groups),
        "predicted ms": predicted / 1e6,
        "measured ms": measured / 1e6,
        "predicted / measured": predicted / measured,
        "from the profile alone": candidate.predicted.makespan_ns / measured,
    }


def main() -> None:
    """Run and store the table."""
    found = [row for name in NAMES for row in rows(name)]
    result_file.show("Predicted against measured makespan, two CPU lanes", found)
    result_file.write("prediction", {"rounds": ROUNDS}, found)


if __name__ == "__main__":
    main()
