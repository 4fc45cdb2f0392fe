"""Launches a second: one thread that submits to 1, 2 and 4 lanes, and as many threads as lanes.

The threads are those of a machine's lanes, or, at best, of as many machines of one lane each.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.gpu_check.figures import Figure, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.small_segments import machine_of, plan_of, sums
from surplus.engine import _core
from surplus.engine.native import load_runtime

OPERATORS = 200
"""Of a segment; each is a launch."""

COUNTS = (1, 2, 4)
_ROUNDS = 5


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """All arrangements in turns; no model takes part."""
    load_runtime()
    segment = sums(OPERATORS)
    inputs = list(segment.inputs.values())
    alone = [_machine(setting, 1) for _ in range(COUNTS[-1])]
    machines = {_lanes(1): alone[:1]}
    for count in COUNTS[1:]:
        machines[_lanes(count)] = [_machine(setting, count, lane_threads=False)]
        machines[_threads(count)] = [_machine(setting, count)]
        machines[_apart(count)] = alone[:count]
    plans = {
        name: [
            (plan_of(m, 1, segment, captured=False), m.stats()["devices"][1]["lanes"]) for m in ms
        ]
        for name, ms in machines.items()
    }
    share_s = setting.budget_s / _ROUNDS / len(plans)
    rates: dict[str, list[float]] = {name: [] for name in plans}
    for _ in range(_ROUNDS):
        for name, opened in plans.items():
            rates[name].append(_rate(opened, inputs, share_s))
    for machine in {machine for some in machines.values() for machine in some}:
        machine.close()
    return Found(tuple(_figures(rates)), {"launches a second": rates})


def _lanes(count: int) -> str:
    return f"1 thread, {count} lanes"


def _threads(count: int) -> str:
    return f"{count} threads, a lane each"


def _apart(count: int) -> str:
    return f"{count} machines, a thread and a lane each"


def _machine(setting: Setting, lanes: int, *, lane_threads: bool = True) -> _core.Machine:
    return machine_of(setting.gpu_name, lanes, lane_threads=lane_threads)


def _rate(
    opened: Sequence[tuple[_core.Plan, int]], inputs: list[_core.Value], seconds: float
) -> float:
    """Launches a second of all plans together, each with two queries a lane in flight."""
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(len(opened)) as callers:
        began = time.perf_counter()
        counts = list(callers.map(lambda o: _queries(o[0], inputs, 2 * o[1], until), opened))
        return OPERATORS * sum(counts) / (time.perf_counter() - began)


def _queries(plan: _core.Plan, inputs: list[_core.Value], at_once: int, until: float) -> int:
    runs = deque(plan.submit(inputs) for _ in range(at_once))
    done = 0
    while runs:
        run = runs.popleft()
        run.wait()
        if run.status != "ok":
            raise RuntimeError(run.error)
        done += 1
        if time.monotonic() < until:
            runs.append(plan.submit(inputs))
    return done


def _figures(rates: dict[str, list[float]]) -> list[Figure]:
    one = rates[_lanes(1)]
    rows = [figure("launches a second: 1 thread, 1 lane", statistics.median(one))]
    for name, found in rates.items():
        if found is not one:
            ratios = [a / b for a, b in zip(found, one, strict=True)]
            rows.append(figure(f"{name} / 1 thread, 1 lane", statistics.median(ratios)))
    return rows
