"""Holds of tasks become what segments and copies of a plan wait for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.placement_file import load_placement, save_placement
from surplus.engine.planning.proposals import by_tail
from surplus.engine.planning.stages import Costs, candidates, finest_cut, plan_of
from surplus.engine.segmentation.coarse import coarse_problem, predict
from surplus.engine.segmentation.segmenter import per_task
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement import CopyHold, Hold, Placement, Problem
from tests.constant_costs import constant_problem
from tests.runtime.runtime_models import read_text

CPU, GPU = 0, 1
SPECS = parse_devices("cpu:1,emulated:gpu")
# On the CPU a and b; what they make goes to the GPU, where c, d and e read it.
MODEL = """
g (float[4] x) => (float[4] u)
{ a = Neg(x)  b = Abs(x)  c = Exp(a)  d = Abs(b)  e = Neg(c)  u = Add(d, e) }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return read_text(MODEL, tmp_path)


@pytest.fixture
def problem(graph: Graph) -> Problem:
    return constant_problem(graph, SPECS)


@pytest.fixture
def made(graph: Graph) -> list[str]:
    """Output of each task."""
    return [graph.tensors[task.outputs[0]].name for task in graph.tasks]


@pytest.fixture
def placement(graph: Graph, problem: Problem, made: list[str]) -> Placement:
    """c waits for d, and the copy of a for that of b."""
    devices = {"a": CPU, "b": CPU, "c": GPU, "d": GPU, "e": GPU, "u": CPU}
    ranks = {"a": 0, "b": 1, "d": 2, "c": 3, "e": 4, "u": 5}
    return Placement(
        tuple(devices[name] for name in made),
        tuple(ranks[name] for name in made),
        "by hand",
        holds=(Hold(made.index("d"), made.index("c")),),
        copy_holds=(
            CopyHold(graph.tensor_index["b"], graph.tensor_index["a"], problem.devices[GPU].memory),
        ),
    )


def test_segments_and_copies_wait_for_more_than_they_read(
    graph: Graph, problem: Problem, placement: Placement
) -> None:
    costs = Costs(problem, ServiceTimes.of(problem))
    plan = plan_of(graph, costs, finest_cut(costs, placement), "test")
    assert {s.outputs[0]: s.awaits for s in plan.segments if s.awaits} == {"c": ("b",)}
    assert {(c.tensor, c.awaits) for c in plan.copies if c.awaits} == {("a", ("b",))}
    assert [s.outputs[0] for s in sorted(plan.segments, key=lambda s: s.rank)] == list("abdceu")


def test_whoever_is_held_behind_one_that_is_held_waits_for_both(
    graph: Graph, problem: Problem, placement: Placement, made: list[str]
) -> None:
    more = (*placement.holds, Hold(made.index("c"), made.index("e")))
    placement = replace(placement, holds=more)
    costs = Costs(problem, ServiceTimes.of(problem))
    plan = plan_of(graph, costs, finest_cut(costs, placement), "test")
    waits = {s.outputs[0]: s.awaits for s in plan.segments if s.awaits}
    assert waits == {"c": ("b",), "e": ("a", "b")}


def test_another_order_has_no_holds(problem: Problem, placement: Placement) -> None:
    groups, service = per_task(problem, placement), ServiceTimes.of(problem)
    assert coarse_problem(groups, service)[1].holds
    others = list(reversed(range(len(groups.groups))))
    assert coarse_problem(groups, service, order=others)[1].holds == ()
    assert predict(groups, service, order=others).makespan_ns > 0
    costs = Costs(problem, service)
    assert by_tail(finest_cut(costs, placement), service) == []


def test_the_cut_that_keeps_them_is_a_candidate(problem: Problem, placement: Placement) -> None:
    costs = Costs(problem, ServiceTimes.of(problem))
    kept = [c for c in candidates(costs, placement) if c.graph.planned is not None]
    assert [len(c.graph.groups) for c in kept] == [len(problem.tasks)]
    free = candidates(costs, placement.without_holds())
    assert not any(c.graph.planned for c in free)


def test_a_placement_file_keeps_them(
    tmp_path: Path, graph: Graph, problem: Problem, placement: Placement
) -> None:
    path = tmp_path / "F.json"
    save_placement(path, graph, problem, placement)
    assert load_placement(path, graph, problem) == placement
    raw = json.loads(path.read_text())
    (row,) = raw["holds"]
    for holds, message in [
        ([[row[0], "other"]], "hold of task 'other', which is unknown"),
        ([row, row[::-1]], "holds form a cycle"),
        ([row[:1]], "holds"),
        (3, "holds"),
    ]:
        path.write_text(json.dumps({**raw, "holds": holds}))
        with pytest.raises(PlacementError, match=message):
            load_placement(path, graph, problem)


def test_a_placement_file_of_version_1_has_none(
    tmp_path: Path, graph: Graph, problem: Problem, placement: Placement
) -> None:
    path = tmp_path / "F.json"
    save_placement(path, graph, problem, placement.without_holds())
    raw = {k: v for k, v in json.loads(path.read_text()).items() if "holds" not in k}
    path.write_text(json.dumps({**raw, "format": "surplus-placement/1"}))
    assert load_placement(path, graph, problem) == placement.without_holds()
