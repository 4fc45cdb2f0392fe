"""Long tables: what a stop leaves, and how the next start goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.models import model_table, optimum
from surplus import models

KEYS: list[Key] = [("a",), ("b",), ("c",)]
MACHINE = {"processor": "P", "cores": 2, "onnxruntime": "1", "commit": "one", "date": "today"}


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    monkeypatch.setattr(result_file, "machine", lambda: dict(MACHINE))
    return tmp_path


class Measure:
    """Notes what it is asked; stops at one key as Ctrl-C does."""

    def __init__(self, stop: str = "") -> None:
        self.asked: list[str] = []
        self._stop = stop

    def __call__(self, key: Key) -> Row:
        self.asked.append(key[0])
        if key[0] == self._stop:
            raise KeyboardInterrupt
        return {"model": key[0], "ms": 1.5}


def _table(config: dict[str, Any] | None = None, anew: bool = False) -> Table:
    return Table("t", config or {"rounds": 3, "pair": (1, 2)}, ("model",), anew=anew)


def _document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _stopped(results: Path) -> None:
    (results / "t.json").write_text("the last results")
    with pytest.raises(KeyboardInterrupt):
        fill(_table(), KEYS, Measure(stop="c"))


def test_a_stop_loses_no_row_and_leaves_the_last_results(results: Path) -> None:
    _stopped(results)
    assert [row["model"] for row in _document(results / "t.part.json")["rows"]] == ["a", "b"]
    assert (results / "t.json").read_text() == "the last results"


def test_the_next_start_measures_the_rest(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stopped(results)
    monkeypatch.setattr(result_file, "machine", lambda: {**MACHINE, "commit": "two"})
    measure = Measure()
    fill(_table(), [KEYS[2], *KEYS[:2]], measure)
    assert measure.asked == ["c"]
    document = _document(results / "t.json")
    assert [row["model"] for row in document["rows"]] == ["c", "a", "b"]
    assert document["machine"]["commit"] == "one, two"
    assert document["bench"] == "t"
    assert not (results / "t.part.json").exists()
    assert _table().rows == []


def _other_machine(patch: pytest.MonkeyPatch) -> Table:
    patch.setattr(result_file, "machine", lambda: {**MACHINE, "cores": 4})
    return _table()


@pytest.mark.parametrize(
    "start",
    [
        lambda _: _table(anew=True),
        lambda _: _table({"rounds": 4}),
        _other_machine,
    ],
)
def test_rows_that_were_measured_otherwise_are_dropped(
    start: Callable[[pytest.MonkeyPatch], Table], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stopped(results)
    measure = Measure()
    fill(start(monkeypatch), KEYS, measure)
    assert measure.asked == ["a", "b", "c"]


def test_models_by_name() -> None:
    assert model_table.chosen("all") == models.model_names()
    assert model_table.chosen("lenet,dlrm") == ["lenet", "dlrm"]
    with pytest.raises(SystemExit, match="no model 'lenett'; there are: alexnet"):
        model_table.chosen("lenett")


def test_seeds() -> None:
    assert optimum.numbers("0-4") == [0, 1, 2, 3, 4]
    assert optimum.numbers("3") == [3]
    assert optimum.numbers("0,7") == [0, 7]
    with pytest.raises(ValueError, match="x"):
        optimum.numbers("x")


def test_problems_are_told_apart_by_the_columns_of_their_rows(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(problem: Any, seed: int, solver: str) -> Row:
        lanes = problem.devices[0].lanes
        return {"graph": problem.name, "seed": seed, "CPU lanes": lanes, "solver": solver}

    monkeypatch.setattr(optimum, "row", row)
    monkeypatch.setattr("sys.argv", ["optimum", "--solvers", "highs,cpsat", "--seeds", "0-4"])
    optimum.main()
    rows = _document(results / "optimum.json")["rows"]
    assert len(rows) == 5 * 3 * 2
    assert [row["solver"] for row in rows[:4]] == ["highs", "cpsat"] * 2
