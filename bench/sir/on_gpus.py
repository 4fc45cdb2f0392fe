"""A detector on emulated GPUs, in a process of its own: queries a second, asked by lines of JSON.

``python -m bench.sir.on_gpus MODEL LANES GPUS CONTENDER``; the GPUs answer from what they recorded,
since this machine is no GPU, and take the time that their profile says.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from bench.infrastructure.built_models import built
from bench.sir.several_gpus import best, costs_on, devices_of, graph_of, whole_on_a_gpu
from surplus.engine.contest.overlapping import InTurn, TakesQueries
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.queueing import Queueing
from surplus.engine.runtime.throughput_switch import Departure

WHOLE, BEST = "whole", "best"

_CROWD = 2
_MOST_IN_FLIGHT = 64
"""So many times as many queries wait as its schedule answers at once, at most."""


def per_s(asked: TakesQueries, inputs: Mapping[str, Any], in_flight: int, seconds: float) -> float:
    """Queries that end in a second while so many wait, those that were first not counted."""
    waiting: deque[Future] = deque()
    for _ in range(2 * in_flight):
        if len(waiting) == in_flight:
            waiting.popleft().result()
        waiting.append(asked.submit(inputs))
    began = now = time.monotonic()
    count = 0
    while now < began + seconds:
        waiting.popleft().result()
        waiting.append(asked.submit(inputs))
        count, now = count + 1, time.monotonic()
    for future in waiting:
        future.result()
    return count / (now - began)


def main() -> None:
    """Open it, say what was planned, and answer until nobody asks any more."""
    model, lanes, gpus, contender = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    costs = costs_on(model, lanes, gpus)
    found = (whole_on_a_gpu if contender == WHOLE else best)(model, costs)
    machine = machine_for(parse_devices(devices_of(lanes, gpus, "replay")))
    opened = [PlannedModel(graph_of(model), plan, machine, Departure.NEVER) for plan in found.plans]
    for one in opened:
        one.be_queued(Queueing.window(found.in_flight))
    inputs = built(model)[1]
    in_flight = min(_MOST_IN_FLIGHT, _CROWD * found.in_flight * found.copies)
    for one in opened:
        one.run(inputs)
    print(json.dumps({"planned": found.per_s, "copies": found.copies}), flush=True)
    for line in sys.stdin:
        seconds = json.loads(line)["seconds"]
        print(json.dumps({"per_s": per_s(InTurn(opened), inputs, in_flight, seconds)}), flush=True)


if __name__ == "__main__":
    main()
