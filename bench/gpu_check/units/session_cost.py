"""What a session costs: opening it, its handles' memory, on each further lane, and as a graph."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass

from bench.gpu_check.figures import Figure, Found, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.small_segments import convolution_and_product, machine_of, plan_of
from surplus.engine import _core
from surplus.engine.cuda_libraries import WORKSPACE_VARIABLE
from surplus.engine.devices.cuda_runtime import CudaRuntime

_PLANS = 4
_LANES = (1, 2, 4)


@dataclass(frozen=True)
class _Opened:
    """A plan of one session a lane."""

    lanes: int
    number: int
    captured: bool
    opened_ms: float
    first_query_ms: float
    second_query_ms: float
    taken_bytes: int
    pool_bytes: int


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Plans are opened one after the other; no model takes part."""
    if spec.parameters:
        os.environ[WORKSPACE_VARIABLE] = ""  # as cuBLAS takes it that nobody set it
    rows: list[_Opened] = []
    for lanes in _LANES:
        machine = machine_of(setting.gpu_name, lanes)
        runtime = CudaRuntime(setting.ordinal)
        kept: list[_core.Plan] = []
        for number in range(_PLANS):
            rows.append(_opened(machine, runtime, lanes, number, kept))
        kept.clear()
        machine.close()
    details = {
        "workspace": os.environ.get(WORKSPACE_VARIABLE, ""),
        "plans": [asdict(row) for row in rows],
    }
    return Found(tuple(_figures(rows)), details)


def _opened(
    machine: _core.Machine, runtime: CudaRuntime, lanes: int, number: int, kept: list[_core.Plan]
) -> _Opened:
    segment, captured = convolution_and_product(), number == _PLANS - 1
    before, pool = runtime.used_memory(), _pool_bytes(machine)
    began = time.perf_counter_ns()
    kept.append(plan_of(machine, 1, segment, captured=captured))
    opened_ms = (time.perf_counter_ns() - began) / 1e6
    first, second = (_query_ms(kept[-1], list(segment.inputs.values())) for _ in range(2))
    taken, pooled = runtime.used_memory() - before, _pool_bytes(machine) - pool
    return _Opened(lanes, number, captured, opened_ms, first, second, taken, pooled)


def _query_ms(plan: _core.Plan, inputs: list[_core.Value]) -> float:
    began = time.perf_counter_ns()
    plan.run(inputs)
    return (time.perf_counter_ns() - began) / 1e6


def _pool_bytes(machine: _core.Machine) -> int:
    found: int = machine.stats()["devices"][1]["memory_bytes"]
    return found


def _figures(rows: list[_Opened]) -> list[Figure]:
    by_place = {(row.lanes, row.number): row for row in rows}
    few, many = by_place[_LANES[0], 1], by_place[_LANES[-1], 1]
    further = many.lanes - few.lanes
    graph = by_place[_LANES[0], _PLANS - 1]
    outside = (many.taken_bytes - many.pool_bytes) - (few.taken_bytes - few.pool_bytes)
    return [
        figure("the process's first session: ms", by_place[_LANES[0], 0].opened_ms),
        figure("a session: ms", few.opened_ms),
        figure("a session on a further lane: ms", (many.opened_ms - few.opened_ms) / further),
        figure(
            "memory of a session on a further lane, not of our pools: MiB",
            outside / further / 2**20,
        ),
        figure("a session with its captured graph: ms", graph.opened_ms),
        figure(
            "first query / second query, after opening", few.first_query_ms / few.second_query_ms
        ),
    ]
