"""``engine place --widths`` writes how many lanes operators take, and ``engine run`` gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.cli.placement_tables import move_rows
from surplus.placement import Placement, placement_table
from surplus.placement.problem import Device, Problem, Task
from tests.cli.calls import Command


@pytest.fixture
def written(engine: Command, tmp_path: Path) -> Path:
    """A placement with widths."""
    placement, model = tmp_path / "F.json", engine.path("fork_join.onnx")
    files = ("--profile", engine.path("fork_join-P.json"), "-o", placement)
    assert engine("place", model, *files, "--widths").status == 0
    return placement


def run(engine: Command, placement: Path) -> Any:
    files = ("--placement", placement, "--profile", engine.path("fork_join-P.json"))
    return engine("run", engine.path("fork_join.onnx"), *files, "--repeat", "2", "--json")


def rewrite(placement: Path, widths: list[int]) -> None:
    """All tasks on the CPU, at these widths in turn."""
    raw = json.loads(placement.read_text())
    for index, row in enumerate(raw["tasks"].values()):
        row[0], row[2] = "cpu", widths[index % len(widths)]
    placement.write_text(json.dumps(raw))


def test_every_task_is_written_with_a_width(written: Path) -> None:
    raw = json.loads(written.read_text())
    assert raw["tasks"]
    assert all(len(row) == 3 and row[2] in (1, 2) for row in raw["tasks"].values())


@pytest.mark.parametrize("width", [1, 2])
def test_segments_of_a_model_of_one_width_are_all_as_wide(
    engine: Command, written: Path, width: int
) -> None:
    rewrite(written, [width])
    report = run(engine, written).json()
    assert report["wide"] == (report["segments"] if width == 2 else 0)


def test_several_widths_are_several_segments(engine: Command, written: Path) -> None:
    rewrite(written, [1, 2])
    report = run(engine, written).json()
    assert 0 < report["wide"] < report["segments"]


def test_an_optimum_is_written_with_its_widths_and_runs(engine: Command, tmp_path: Path) -> None:
    model, files = engine.path("lenet.onnx"), ("--profile", engine.path("lenet-P.json"))
    optimum = tmp_path / "optimum.json"
    found = engine("optimum", model, *files, "--widths", "--time", "5", "-o", optimum, "--json")
    rows = json.loads(optimum.read_text())["tasks"]
    assert {name: row[2] for name, row in rows.items()} == {
        row["name"]: len(row["lanes"]) for row in found.json()["tasks"]
    }
    report = engine("run", model, "--placement", optimum, *files, "--repeat", "1", "--json").json()
    assert (report["wide"] > 0) == any(row[2] > 1 for row in rows.values())


def test_a_wrong_width_is_refused_in_one_line(engine: Command, written: Path) -> None:
    rewrite(written, [7])
    refused = run(engine, written)
    assert refused.is_one_clear_line()
    assert "has no width 7 on device 'cpu', only 1, 2" in refused.err


def test_other_runtimes_keep_to_no_widths(engine: Command, tmp_path: Path) -> None:
    files = (engine.path("lenet.onnx"), "--profile", engine.path("lenet-P.json"), "--widths")
    for verb in ("place", "optimum"):
        refused = engine(verb, *files, "--emit", "onnxruntime", tmp_path / "out")
        assert refused.is_one_clear_line()
        assert "--emit onnxruntime keeps to no --widths" in refused.err


def test_tables_count_wide_tasks_where_there_are_any() -> None:
    tasks = tuple(Task(f"t{i}", "Op", (10,), wider_ns=(((2, 6),),)) for i in range(2))
    problem = Problem("two", (Device("cpu", 2),), (), tasks, ())
    narrow, wide = Placement((0, 0), (0, 1), "narrow"), Placement((0, 0), (0, 1), "wide", (2, 1))
    shown = move_rows(placement_table(problem, [narrow, wide]))
    assert [row["wide"] for row in shown] == [0, 1]
    assert "wide" not in move_rows(placement_table(problem, [narrow]))[0]
