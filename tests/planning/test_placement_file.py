from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.placement_file import load_placement, save_placement
from surplus.engine.planning.stages import read_model
from surplus.placement.problem import Problem
from tests.constant_costs import constant_problem, random_placement
from tests.pipeline.subject import Subject

SPECS = parse_devices("cpu:1,emulated:gpu")


@pytest.fixture
def graph(shared: Subject) -> Graph:
    return read_model(shared.path, shared.cache)


@pytest.fixture
def problem(graph: Graph) -> Problem:
    return constant_problem(graph, SPECS)


@pytest.fixture
def path(graph: Graph, problem: Problem, tmp_path: Path) -> Path:
    save_placement(tmp_path / "F.json", graph, problem, random_placement(problem, 4))
    return tmp_path / "F.json"


def test_round_trip(graph: Graph, problem: Problem, path: Path) -> None:
    assert load_placement(path, graph, problem) == random_placement(problem, 4)


def test_an_edited_file(graph: Graph, problem: Problem, path: Path) -> None:
    raw = json.loads(path.read_text())
    for row in raw["tasks"].values():
        row[0] = "cpu"
    path.write_text(json.dumps(raw))
    assert set(load_placement(path, graph, problem).device_of) == {0}


def _first(raw: dict[str, Any], row: Any) -> dict[str, Any]:
    tasks = dict(raw["tasks"])
    tasks[next(iter(tasks))] = row
    return {**raw, "tasks": tasks}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: [], "field 'format' must be"),
        (lambda raw: {**raw, "format": "other/1"}, "field 'format' must be"),
        (lambda raw: {**raw, "model": "other"}, "a placement of another model"),
        (lambda raw: {**raw, "tasks": []}, "field 'tasks' must map"),
        (lambda raw: {**raw, "tasks": {}}, r"expected \[device, priority\]"),
        (lambda raw: {**raw, "tasks": {**raw["tasks"], "x": ["cpu", 1]}}, "unknown task 'x'"),
        (lambda raw: _first(raw, ["tpu", 1]), "unknown device 'tpu'"),
        (lambda raw: _first(raw, ["cpu"]), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, ["cpu", "1"]), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, ["cpu", 1.5]), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, ["cpu", 1, 2, 3]), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, [0, 1]), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, None), r"expected \[device, priority\]"),
        (lambda raw: _first(raw, "cpu"), r"expected \[device, priority\]"),
    ],
)
def test_malformed(graph: Graph, problem: Problem, path: Path, change: Any, message: str) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(PlacementError, match=message) as caught:
        load_placement(path, graph, problem)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_no_json(graph: Graph, problem: Problem, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(PlacementError, match="not a placement"):
        load_placement(path, graph, problem)


def test_a_device_that_cannot_run_a_task(graph: Graph, path: Path) -> None:
    specs = parse_devices("cpu:1,emulated:gpu")
    problem = constant_problem(graph, specs)
    raw = json.loads(path.read_text())
    path.write_text(json.dumps(_first(raw, ["emulated:gpu", 0])))
    first = problem.tasks[0]
    tasks = (type(first)(**{**first.__dict__, "service_ns": (1, None)}), *problem.tasks[1:])
    host_only = type(problem)(**{**problem.__dict__, "tasks": tasks})
    with pytest.raises(PlacementError, match=first.name):
        load_placement(path, graph, host_only)


@pytest.mark.parametrize("name", ["missing.json", ".", "F.json/below"])
def test_unreadable(graph: Graph, problem: Problem, path: Path, name: str) -> None:
    with pytest.raises(PlacementError, match=r"F\.json/below|missing\.json|directory"):
        load_placement(path.parent / name, graph, problem)
