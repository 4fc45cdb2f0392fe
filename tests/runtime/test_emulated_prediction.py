"""What the simulator predicts for an emulated GPU is what the core's clock charges, exactly."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.simulator import simulate
from surplus.placement.timeline import Timeline
from surplus.placement.validator import check
from tests.constant_costs import constant_problem
from tests.runtime.runtime_models import read_text
from tests.runtime.span_times import times_of

GPU = 1
WIDE = 24
"""Branches of the model: many small segments."""
TRIES = 5_000
"""Others may hold the cores for most of them."""


def _branches(folder: Path) -> Graph:
    """Every branch reads its own input and delivers its own output; neighbours meet midway."""
    inputs = ", ".join(f"float[4] x{i}" for i in range(WIDE))
    outputs = ", ".join(f"float[4] y{i}" for i in range(WIDE))
    body = [f"a{i} = Neg(x{i})  b{i} = Abs(a{i})" for i in range(WIDE)]
    body += [f"c{i} = Add(b{i}, b{(i + 1) % WIDE})  y{i} = Exp(c{i})" for i in range(WIDE)]
    return read_text(f"g ({inputs}) => ({outputs}) {{ {'  '.join(body)} }}", folder)


def _prepared(graph: Graph, devices: str, emulation: EmulationParams, seed: int):
    """A plan of one segment a task, all on the GPU, with its problem and its placement."""
    specs = parse_devices(devices)
    problem = _with_costs(constant_problem(graph, specs), emulation, seed)
    placement = Placement((GPU,) * len(graph.tasks), tuple(range(len(graph.tasks))), "gpu")
    groups = per_task(problem, placement)
    times = [task.service_ns[GPU] or 0 for task in problem.tasks]
    service = replace(
        ServiceTimes.of(problem),
        submit_ns={GPU: emulation.submit_ns or 0},
        captured_ns={GPU: [ns // 2 if i % 3 == 0 else None for i, ns in enumerate(times)]},
    )
    coarse, on_device = coarse_problem(groups, service)
    predicted = simulate(coarse, on_device)
    plan = make_plan(graph, groups, service, predicted, name="", policy="", bound_ns=0)
    # What the core is told to do: the ranks of the plan, which follow from the prediction.
    ranked = replace(on_device, priority=tuple(segment.rank for segment in plan.segments))
    again = simulate(coarse, ranked)
    check(coarse, ranked, again)
    return replace(plan, predicted=again)


def _with_costs(problem: Problem, emulation: EmulationParams, seed: int) -> Problem:
    draw = random.Random(seed)
    tasks = tuple(
        replace(
            task,
            service_ns=(None, draw.randrange(2_000, 60_000)),
            default_device=GPU,
            launch_ns=(0, draw.choice([0, 0, 9_000])),
        )
        for task in problem.tasks
    )
    sizes = tuple(replace(t, size_bytes=16) for t in problem.tensors)
    host, gpu = problem.devices
    gpu = replace(gpu, slowdown=tuple(emulation.slowdown or ()))
    return replace(problem, tasks=tasks, tensors=sizes, devices=(host, gpu))


def _measured(graph: Graph, plan: Plan, devices: str, emulation: EmulationParams, want: int):
    """Timelines of queries that replay, until one lasts as long as wanted."""
    model = PlannedModel(graph, plan, machine_for(parse_devices(devices), emulation))
    inputs = {f"x{i}": np.full(4, i, np.float32) for i in range(WIDE)}
    model.run(inputs)  # records the outputs
    found: list[Timeline] = []
    for _ in range(TRIES):
        model.run(inputs, traced=True)
        found.append(model.timeline())
        if found[-1].makespan_ns == want:
            break
    return found


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("flags", ["replay", "replay,pageable"])
@pytest.mark.parametrize(
    ("submit_ns", "slowdown"), [(0, None), (3_000, None), (10_000, (1.0, 1.25, 1.5, 2.0))]
)
def test_a_plan_of_many_small_segments_and_copies(
    tmp_path: Path, lanes: int, flags: str, submit_ns: int, slowdown: tuple[float, ...] | None
) -> None:
    graph = _branches(tmp_path)
    devices = f"cpu:1,emulated:gpu[{flags}]:{lanes}"
    emulation = EmulationParams(submit_ns=submit_ns, slowdown=slowdown or ())
    plan = _prepared(graph, devices, emulation, seed=lanes)
    found = _measured(graph, plan, devices, emulation, plan.predicted.makespan_ns)
    assert found[-1].makespan_ns == plan.predicted.makespan_ns
    assert times_of(found[-1]) == times_of(plan.predicted)
