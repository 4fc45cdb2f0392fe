"""Whether what is called optimal is what runs: orders of a model on streams of an emulated GPU.

Service times are made up, such that some optima idle on purpose. Each order is dispatched by the
evaluator, by the runtime's rules, and measured by the wall, all in turns. Figures are over the
optimum's makespan; those of the last column over what the order with holds took, by ratios of
medians within a round.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.built_models import built
from bench.infrastructure.timing import interleaved
from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.links import host_links, link_figures
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.service import ServiceTimes
from surplus.milp import Result, SolveParams, solve
from surplus.placement import (
    Device,
    Placement,
    Problem,
    SimulatorParams,
    SpanKind,
    Task,
    Tensor,
    simulate,
    validate,
)
from surplus.placement.evaluator import arrays, compiled, makespan_ns

GPU = 1
ELEMENTS = 4
"""Of each tensor: nothing but service times counts."""
SOLVE_S = 30.0
ROUNDS = 15
_LEAST_NS, _MOST_NS = 100_000, 8_000_000


@dataclass(frozen=True)
class OptimumCase:
    """A model, the streams of its GPU, and the seed of its times."""

    model: str
    parameters: Mapping[str, Any]
    streams: int
    seed: int

    @property
    def specs(self) -> tuple[DeviceSpec, ...]:
        """Its machine."""
        return parse_devices(f"cpu:1,emulated:gpu[replay]:{self.streams}")


CASES = (
    OptimumCase("random_dag", {"nodes": 20, "width": 8, "size": ELEMENTS}, 3, 4),
    OptimumCase("random_dag", {"nodes": 20, "width": 8, "size": ELEMENTS}, 3, 9),
    OptimumCase("random_wide", {"width": 5, "depth": 3, "grain": ELEMENTS, "cross": 0.4}, 2, 0),
    OptimumCase("diamonds", {"count": 3, "width": 5, "size": ELEMENTS}, 2, 0),
)
"""The optima of the first two idle."""


def problem_of(graph: Graph, case: OptimumCase) -> Problem:
    """The graph on the GPU, of times at random over nearly two orders of magnitude."""
    random = Random(case.seed)
    specs = case.specs
    return Problem(
        graph.name,
        tuple(Device(spec.name, spec.lanes, spec.memory) for spec in specs),
        host_links(specs[GPU].memory, link_figures(specs[GPU].preset)),
        tuple(
            Task(
                t.name,
                t.op_type,
                (None, round(_LEAST_NS * (_MOST_NS / _LEAST_NS) ** random.random())),
                default_device=GPU,
            )
            for t in graph.tasks
        ),
        tuple(
            Tensor(
                t.name, t.producer, t.consumers, 0 if t.metadata_only else 4 * ELEMENTS, t.is_output
            )
            for t in graph.tensors
        ),
    )


def orders(problem: Problem, result: Result) -> Iterator[tuple[str, Placement]]:
    """Those of other runtimes, the optimum's own, and that with its holds."""
    assert result.placement is not None
    held = result.placement
    free = held.without_holds()
    ready = [s for s in simulate(problem, free, SimulatorParams("fifo")) if s.kind is SpanKind.TASK]
    ready.sort(key=lambda span: (span.ready_ns, free.priority[span.index]))
    ranks = compiled(problem).upward_ranks_ns(arrays(problem, free)[0])
    yield "FIFO", _in_order(free, [span.index for span in ready])
    yield "upward rank", _in_order(free, np.argsort(-ranks, kind="stable").tolist())
    yield "planned", free
    yield "planned, with holds", held


def _in_order(placement: Placement, tasks: list[int]) -> Placement:
    priority = [0] * len(tasks)
    for rank, task in enumerate(tasks):
        priority[task] = rank
    return replace(placement, priority=tuple(priority))


def model_of(
    graph: Graph, problem: Problem, placement: Placement, machine: _core.Machine
) -> PlannedModel:
    """A segment a task, in the order of the placement."""
    tasks = [TaskGroup((task,), device) for task, device in enumerate(placement.device_of)]
    groups, service = GroupGraph(problem, tasks, placement), ServiceTimes.of(problem)
    predicted = predict(groups, service)
    plan = make_plan(graph, groups, service, predicted, name="", policy="", bound_ns=0)
    return PlannedModel(graph, plan, machine)


def rows(case: OptimumCase, solve_s: float, rounds: int, cache: Path) -> list[dict[str, Any]]:
    """A row for each order."""
    path, inputs = built(case.model, **case.parameters)
    graph = read_model(path, cache)
    problem = problem_of(graph, case)
    result = solve(problem, SolveParams(time_limit_s=solve_s))
    assert result.makespan_ns is not None
    placements = dict(orders(problem, result))
    for placement in placements.values():
        faults = validate(problem, placement, simulate(problem, placement))
        assert not faults, faults
    machine = machine_for(case.specs, EmulationParams(submit_ns=0, slowdown=()))
    models = {name: model_of(graph, problem, p, machine) for name, p in placements.items()}
    runs = {name: partial(model.run, inputs) for name, model in models.items()}
    times = interleaved(runs, rounds)
    held = next(reversed(placements))
    return [
        {
            "model": f"{case.model} {case.seed}, {case.streams} streams",
            "tasks": len(problem.tasks),
            "gap %": 100 * (result.gap or 0.0),
            "predicted ms": result.makespan_ns / 1e6,
            "order": name,
            "holds": len(placement.holds) + len(placement.copy_holds),
            "dispatched": makespan_ns(problem, placement) / result.makespan_ns,
            "measured": times[name].median_ns / result.makespan_ns,
            "over holds": times[name].ratio_to(times[held]),
        }
        for name, placement in placements.items()
    ]


def main() -> None:
    """Solve, measure and store all."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--time", type=float, default=SOLVE_S, metavar="S", help="to solve each (%(default)g s)")
    add("--rounds", type=int, default=ROUNDS, metavar="N", help="of turns (%(default)d)")
    args = parser.parse_args()
    with TemporaryDirectory() as cache:
        found = [row for case in CASES for row in rows(case, args.time, args.rounds, Path(cache))]
    result_file.show("Orders over the optimum", found)
    if (args.time, args.rounds) == (SOLVE_S, ROUNDS):
        config = {"solve_s": SOLVE_S, "rounds": ROUNDS}
        result_file.write("executable_optima", config, found)


if __name__ == "__main__":
    main()
