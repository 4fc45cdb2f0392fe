"""The core keeps holds: the emulated GPU's clock charges what the simulator says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.explain.causes import causes_of
from surplus.engine.runtime.lowering import lower
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.plan_part import StagedPlan
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement import Hold, Placement, Problem, SpanKind, Timeline, check, simulate
from tests.constant_costs import constant_problem
from tests.placement.held_placements import held
from tests.runtime.runtime_models import read_text
from tests.runtime.span_times import times_of

GPU = 1
WIDE = 12
TRIES = 5_000
"""Others may hold the cores for most of them."""


def _devices(lanes: int) -> str:
    return f"cpu:1,emulated:gpu[replay]:{lanes}"


def _branches(folder: Path) -> Graph:
    """Every branch reads its own input and delivers its own output; neighbours meet midway."""
    inputs = ", ".join(f"float[4] x{i}" for i in range(WIDE))
    outputs = ", ".join(f"float[4] y{i}" for i in range(WIDE))
    body = [f"a{i} = Neg(x{i})  b{i} = Abs(a{i})" for i in range(WIDE)]
    body += [f"c{i} = Add(b{i}, b{(i + 1) % WIDE})  y{i} = Exp(c{i})" for i in range(WIDE)]
    return read_text(f"g ({inputs}) => ({outputs}) {{ {'  '.join(body)} }}", folder)


def _on_gpu(graph: Graph, lanes: int, times: list[int]) -> Problem:
    problem = constant_problem(graph, parse_devices(_devices(lanes)))
    tasks = tuple(
        replace(task, service_ns=(None, time_ns), default_device=GPU)
        for task, time_ns in zip(problem.tasks, times, strict=True)
    )
    sizes = tuple(replace(tensor, size_bytes=16) for tensor in problem.tensors)
    return replace(problem, tasks=tasks, tensors=sizes)


def _plan(graph: Graph, problem: Problem, placement: Placement, submit_ns: int) -> Plan:
    """A segment a task, with what the simulator says of its holds."""
    groups = per_task(problem, placement)
    service = replace(ServiceTimes.of(problem), submit_ns={GPU: submit_ns})
    coarse, on_device = coarse_problem(groups, service)
    assert len(on_device.holds) == len(placement.holds)
    assert len(on_device.copy_holds) == len(placement.copy_holds)
    predicted = simulate(coarse, on_device)
    check(coarse, on_device, predicted)
    return make_plan(graph, groups, service, predicted, name="", policy="", bound_ns=0)


def _measured(graph: Graph, plan: Plan, lanes: int, submit_ns: int) -> Timeline:
    """Of a query that replays; of some, since one that the machine disturbed came too late."""
    machine = machine_for(
        parse_devices(_devices(lanes)), EmulationParams(submit_ns=submit_ns, slowdown=())
    )
    model = PlannedModel(graph, plan, machine)
    inputs = {t.name: np.full(4, i, np.float32) for i, t in enumerate(graph.summary.inputs)}
    model.run(inputs)  # records the outputs
    for _ in range(TRIES):
        model.run(inputs, traced=True)
        if model.timeline().makespan_ns == plan.predicted.makespan_ns:
            break
    return model.timeline()


@pytest.mark.parametrize("submit_ns", [0, 3_000])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_holds_are_kept_to_the_nanosecond(tmp_path: Path, lanes: int, submit_ns: int) -> None:
    graph, draw = _branches(tmp_path), Random(lanes)
    times = [draw.randrange(2_000, 60_000) for _ in graph.tasks]
    problem = _on_gpu(graph, lanes, times)
    placement = held(problem, lanes)
    assert placement.holds
    assert placement.copy_holds
    plan = _plan(graph, problem, placement, submit_ns)
    assert times_of(_measured(graph, plan, lanes, submit_ns)) == times_of(plan.predicted)


IDLING = """
g (float[4] x, float[4] y) => (float[4] u, float[4] v)
{ a = Neg(x)  b = Abs(a)  c = Exp(a)  u = Add(b, c)  v = Neg(y) }
"""
LASTS_NS = {"a": 50_000, "b": 500_000, "c": 500_000, "u": 900_000, "v": 600_000}


def test_a_stream_idles_for_what_is_urgent(tmp_path: Path) -> None:
    # While a runs, the second stream could begin v; then c would not run beside b.
    graph = read_text(IDLING, tmp_path)
    made = [graph.tensors[task.outputs[0]].name for task in graph.tasks]
    problem = _on_gpu(graph, 2, [LASTS_NS[name] for name in made])
    ranks = tuple(list(LASTS_NS).index(name) for name in made)
    free = Placement((GPU,) * len(made), ranks, "free")
    kept = replace(free, holds=(Hold(made.index("c"), made.index("v")),))
    ends_ns = []
    for placement in (free, kept):
        plan = _plan(graph, problem, placement, 0)
        found = _measured(graph, plan, 2, 0)
        assert times_of(found) == times_of(plan.predicted)
        ends_ns.append(found.makespan_ns)
    spans = {s.index: s for s in found if s.kind is not SpanKind.COPY}
    by_output = {segment.outputs[0]: spans[i] for i, segment in enumerate(plan.segments)}
    assert by_output["v"].ready_ns == by_output["a"].end_ns
    assert by_output["c"].start_ns == by_output["b"].start_ns == by_output["a"].end_ns
    assert by_output["v"].start_ns == by_output["b"].end_ns
    assert ends_ns[1] < ends_ns[0] - 400_000


def test_an_explanation_knows_what_a_held_segment_waited_for(tmp_path: Path) -> None:
    graph = _branches(tmp_path)
    problem = _on_gpu(graph, 2, [1_000] * len(graph.tasks))
    placement = held(problem, 3)
    plan = _plan(graph, problem, placement, 0)
    causes = causes_of(plan)
    held_ones = [i for i, segment in enumerate(plan.segments) if segment.awaits]
    assert held_ones
    for index in held_ones:
        assert len(set(causes[index])) > len(plan.segments[index].inputs) - 1
    assert Plan.from_json(plan.to_json()) == plan


def test_parts_of_a_plan_wait_for_what_they_make_themselves(tmp_path: Path) -> None:
    graph = _branches(tmp_path)
    problem = _on_gpu(graph, 2, [1_000] * len(graph.tasks))
    plan = _plan(graph, problem, held(problem, 3), 0)
    depth = dict.fromkeys((tensor.name for tensor in graph.summary.inputs), -1)
    stages = [0] * len(plan.segments)
    for index in sorted(range(len(stages)), key=lambda i: plan.segments[i].tasks):
        segment = plan.segments[index]
        stages[index] = 1 + max(depth[name] for name in segment.inputs)
        depth |= dict.fromkeys(segment.outputs, stages[index])
    staged = StagedPlan(graph.summary, plan, stages)
    later = [
        n for s, at in zip(plan.segments, stages, strict=True) for n in s.awaits if depth[n] > at
    ]
    assert later
    machine = machine_for(parse_devices(_devices(2)), EmulationParams(slowdown=()))
    for stage in range(staged.count):
        part = staged.part(stage, stage + 1)
        names = lower(graph, plan, machine, part).node_names
        assert {segment.name for segment in part.segments} <= set(names)
