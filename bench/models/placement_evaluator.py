"""How many placements a second are evaluated, natively and by the simulator in Python.

By the CPU time of the one thread that does it: nothing waits, and others' load counts less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from random import Random
from statistics import mean
from time import thread_time_ns
from typing import TypeVar

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.timing import interleaved
from surplus.placement import Placement, Problem, make_policy, simulate
from surplus.placement.evaluator import compiled, makespan_ns, schedule
from surplus.placement.random_graphs import DetectorParams, MachineParams, detector, inception

MACHINE = MachineParams(cpu_lanes=2, gpu_lanes=2, occupancy_ns=2_000)
PLANS = 64
MOVED = 0.01
"""Share of the tasks that are moved and change their order in HEFT's plan, as a search does."""
SEED = 1
BUDGET_NS = 4_000_000_000

T = TypeVar("T")


def problems() -> Iterator[tuple[str, Problem]]:
    """Detectors and inception-like nets of 1,000 and 3,000 tasks; a GPU that is submitted to."""
    for branch_tasks in (11, 36):
        sizes = DetectorParams(backbone=88, branch_tasks=branch_tasks)
        problem = detector(SEED, sizes, MACHINE)
        yield "lanes", problem
        yield "streams", submitted(problem)
    for blocks in (110, 331):
        yield "lanes", inception(SEED, blocks, machine=MACHINE)


def submitted(problem: Problem) -> Problem:
    """The same with a thread that submits to the GPU and lanes that slow each other."""
    cpu, gpu = problem.devices
    return replace(problem, devices=(cpu, replace(gpu, submit_ns=3_000, slowdown=(1.0, 1.3))))


def plans(problem: Problem) -> list[Placement]:
    """Neighbours of HEFT's plan."""
    random, base = Random(SEED), make_policy("heft").place(problem)
    found = []
    for _ in range(PLANS):
        devices, priority = list(base.device_of), list(base.priority)
        moved = random.sample(range(len(devices)), round(MOVED * len(devices)))
        for task, other in zip(moved, reversed(moved), strict=True):
            devices[task] = 1 - devices[task]
            if task < other:
                priority[task], priority[other] = priority[other], priority[task]
        found.append(Placement(tuple(devices), tuple(priority), "moved"))
    return found


def row(gpu: str, problem: Problem) -> dict[str, object]:
    """Evaluate the same plans in turns; both have to find the same."""
    placements = plans(problem)
    arrays = [(np.array(p.device_of), np.array(p.priority)) for p in placements]
    for placement in placements:
        assert makespan_ns(problem, placement) == simulate(problem, placement).makespan_ns
    asked = compiled(problem)
    times = interleaved(
        {
            "Python": _each(placements, lambda placement: simulate(problem, placement)),
            "placement": _each(placements, lambda placement: makespan_ns(problem, placement)),
            "arrays": _each(arrays, lambda pair: asked.makespan_ns(*pair)),
        },
        budget_ns=BUDGET_NS,
        clock=thread_time_ns,
    )
    return {
        "graph": problem.name,
        "tasks": len(problem.tasks),
        "copies": round(mean(len(schedule(problem, p).copies) for p in placements)),
        "GPU": gpu,
        "Python /s": 1e9 / times["Python"].median_ns,
        "native /s": 1e9 / times["arrays"].median_ns,
        "times": times["Python"].ratio_to(times["arrays"]),
        "of `Placement`s /s": 1e9 / times["placement"].median_ns,
        "reading the problem ms": reading_ns(problem) / 1e6,
    }


def reading_ns(problem: Problem) -> int:
    """What the first question about a problem costs beside its answer."""
    fresh = [replace(problem, name=str(place)) for place in range(5)]
    found = []
    for one in fresh:
        start_ns = thread_time_ns()
        compiled(one)
        found.append(thread_time_ns() - start_ns)
    return sorted(found)[len(found) // 2]


def _each(values: list[T], ask: Callable[[T], object]) -> Callable[[], object]:
    """A contender that takes the values in turn."""
    turn = cycle(values)
    return lambda: ask(next(turn))


def main() -> None:
    """Run and store the table."""
    rows = [row(gpu, problem) for gpu, problem in problems()]
    result_file.show("Placements evaluated", rows)
    config = {"plans": PLANS, "moved": MOVED, "seed": SEED, "budget_ns": BUDGET_NS}
    result_file.write("placement_evaluator", config, rows)


if __name__ == "__main__":
    main()
