"""Placement files say how wide tasks run, or leave that to segments."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.placement_file import load_placement, save_placement
from surplus.engine.planning.stages import read_model
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.widths import narrow
from tests.constant_costs import moldable_problem, random_widths
from tests.pipeline.subject import Subject

SPECS = parse_devices("cpu:4,emulated:gpu")
GPU = 1


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def problem(graph: Graph) -> Problem:
    return moldable_problem(graph, SPECS)


@pytest.fixture
def placement(problem: Problem) -> Placement:
    return random_widths(problem, 4)


@pytest.fixture
def path(graph: Graph, problem: Problem, placement: Placement, tmp_path: Path) -> Path:
    save_placement(tmp_path / "F.json", graph, problem, placement)
    return tmp_path / "F.json"


def test_widths_survive_a_file(
    graph: Graph, problem: Problem, placement: Placement, path: Path
) -> None:
    assert len(set(placement.width_of)) > 1
    assert load_placement(path, graph, problem) == placement
    raw = json.loads(path.read_text())
    assert raw["format"] == "surplus-placement/3"
    assert [row[2] for row in raw["tasks"].values()] == list(placement.width_of)


def test_the_narrowest_widths_are_written_where_there_was_a_choice(
    graph: Graph, problem: Problem, placement: Placement, path: Path
) -> None:
    save_placement(path, graph, problem, replace(placement, width_of=()))
    assert load_placement(path, graph, problem).width_of == (1,) * len(problem.tasks)
    save_placement(path, graph, narrow(problem), replace(placement, width_of=()))
    assert load_placement(path, graph, problem).width_of == ()


@pytest.mark.parametrize("version", [1, 2])
def test_older_files_leave_widths_to_segments(
    graph: Graph, problem: Problem, placement: Placement, path: Path, version: int
) -> None:
    raw = json.loads(path.read_text())
    older = {**raw, "format": f"surplus-placement/{version}"}
    path.write_text(json.dumps(older))
    with pytest.raises(PlacementError, match=r"expected \[device, priority\]$"):
        load_placement(path, graph, problem)
    rows = {name: row[:2] for name, row in raw["tasks"].items()}
    path.write_text(json.dumps({**older, "tasks": rows}))
    assert load_placement(path, graph, problem) == replace(placement, width_of=())


def _some(raw: dict[str, Any], device: str) -> str:
    """A task of that device."""
    return next(name for name, row in raw["tasks"].items() if row[0] == device)


@pytest.mark.parametrize(
    ("device", "width", "message"),
    [
        ("cpu", 3, "has no width 3 on device 'cpu', only 1, 2, 4"),
        ("cpu", 8, "has no width 8 on device 'cpu', only 1, 2, 4"),
        ("emulated:gpu", 2, "has no width 2 on device 'emulated:gpu', only 1"),
        ("cpu", 0, "width must be a whole number from 1 on, got 0"),
        ("cpu", -1, "width must be a whole number from 1 on, got -1"),
        ("cpu", True, "width must be a whole number from 1 on, got True"),
        ("cpu", 2.0, "width must be a whole number from 1 on, got 2.0"),
        ("cpu", "2", "width must be a whole number from 1 on, got '2'"),
        ("cpu", None, "width must be a whole number from 1 on, got None"),
        ("cpu", [2], r"width must be a whole number from 1 on, got \[2\]"),
    ],
)
def test_a_width_that_a_task_does_not_have_is_refused(
    graph: Graph, problem: Problem, path: Path, device: str, width: object, message: str
) -> None:
    raw = json.loads(path.read_text())
    name = _some(raw, device)
    raw["tasks"][name][2] = width
    path.write_text(json.dumps(raw))
    with pytest.raises(PlacementError, match=message) as caught:
        load_placement(path, graph, problem)
    assert f"{path}: task {name!r}" in str(caught.value)


def test_all_tasks_have_a_width_or_none(graph: Graph, problem: Problem, path: Path) -> None:
    raw = json.loads(path.read_text())
    name = _some(raw, "cpu")
    del raw["tasks"][name][2]
    path.write_text(json.dumps(raw))
    with pytest.raises(
        PlacementError, match=r"\[device, priority, width\], since others have a width"
    ) as caught:
        load_placement(path, graph, problem)
    assert repr(name) in str(caught.value)


def test_a_device_without_lanes_for_it_is_refused(graph: Graph, path: Path) -> None:
    fewer = moldable_problem(graph, parse_devices("cpu:2,emulated:gpu"))
    with pytest.raises(PlacementError, match="has no width 4 on device 'cpu', only 1, 2"):
        load_placement(path, graph, fewer)
