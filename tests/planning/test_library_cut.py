"""A model is cut around what a library must not run: few groups, no cycle, what is worth it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning import library_cut
from surplus.engine.planning.library_cut import cut_around
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.service import ServiceTimes
from tests.constant_costs import constant_problem
from tests.runtime.runtime_models import read_text

LOOKED_UP = """looked_up (float[9, 4] table, int64[2] ids, float[2, 4] x) => (float[2, 4] y)
    <int64[1] s = {2}> { i = Reshape(ids, s) row = Gather(table, i) own = Neg(x)
    sum = Add(row, own) y = Relu(sum) }"""


@pytest.fixture(autouse=True)
def _barred(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library may run everything but Gather and Abs."""

    def may_run(graph: Graph, library: str, tasks: Iterable[int]) -> bool:
        assert library == "openvino"
        return not {graph.tasks[t].op_type for t in tasks} & {"Gather", "Abs"}

    monkeypatch.setattr(library_cut, "may_run", may_run)


def _cut(folder: Path, text: str, times_ns: dict[str, int] | None = None) -> list[set[str]] | None:
    """Operators of each group, in their order."""
    graph = read_text(text, folder)
    problem = constant_problem(graph, parse_devices("cpu:2"))
    times = [(times_ns or {}).get(task.op_type, 10) for task in graph.tasks]
    whole = GroupGraph(problem, [TaskGroup(tuple(range(len(graph.tasks))), 0, 2)])
    groups = cut_around(graph, "openvino", whole, ServiceTimes({(0, 1): times}))
    if groups is None:
        return None
    assert {(group.device, group.width) for group in groups.groups} == {(0, 2)}
    return [{graph.tasks[t].op_type for t in group.tasks} for group in groups.groups]


def test_what_moves_whole_numbers_stays_with_what_is_barred(tmp_path: Path) -> None:
    assert _cut(tmp_path, LOOKED_UP) == [{"Reshape", "Gather"}, {"Neg", "Add", "Relu"}]


def test_what_is_barred_in_the_middle_has_groups_on_both_sides(tmp_path: Path) -> None:
    text = """middle (float[4] x) => (float[4] y, float[4] z)
        { a = Neg(x) b = Abs(a) c = Relu(a) d = Sigmoid(b) y = Add(c, d) z = Exp(a) }"""
    assert _cut(tmp_path, text) == [{"Neg", "Exp"}, {"Abs"}, {"Relu", "Sigmoid", "Add"}]


def test_nothing_is_cut_where_it_may_run_all_or_little(tmp_path: Path) -> None:
    assert _cut(tmp_path, "all (float[4] x) => (float[4] y) { y = Neg(x) }") is None
    assert _cut(tmp_path, "none (float[4] x) => (float[4] y) { y = Abs(x) }") is None
    assert _cut(tmp_path, LOOKED_UP, {"Gather": 1000}) is None


def test_nothing_is_cut_into_many_groups(tmp_path: Path) -> None:
    turns = " ".join(f"a{i} = Neg(b{i}) b{i + 1} = Abs(a{i})" for i in range(10))
    text = f"turns (float[4] b0) => (float[4] y) {{ {turns} y = Neg(b10) }}"
    assert _cut(tmp_path, text, {"Abs": 1}) is None
