"""``auto`` and ``anneal`` against proven bounds: rows, bars, what a stop leaves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bench.infrastructure import result_file
from bench.models import placement_auto
from bench.models.placement_auto import Case, bars, cases, row
from surplus.placement import ContradictionError, make_policy


def test_a_row_has_both_over_the_solvers_bound() -> None:
    found = row(Case("detector", 20, "1+1", 1), 5.0, 0.1)
    assert 1.0 <= found["anneal"] <= found["auto"]
    assert found["auto ms"] > 0
    assert found["bound us"] > 0


def test_every_family_of_every_size_is_a_case_once() -> None:
    found = list(cases(["detector", "fork-join"], [60, 200], 2))
    assert len({case.key for case in found}) == len(found) == 2 * 2 * 2 * 2
    assert [case.tasks for case in found] == sorted(case.tasks for case in found)
    assert list(cases(["detector"], [1], 1)) == []


def test_a_plan_below_the_bound_is_loud() -> None:
    problem = Case("detector", 60, "1+1", 1).problem()
    plan = make_policy("auto").place(problem)
    with pytest.raises(ContradictionError):
        placement_auto.judged_ns(problem, plan, 1 << 60)


def test_stored_bounds_are_not_searched_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    columns, config = ("family", "tasks", "lanes", "seed"), {"solve_s": 5.0}
    case = Case("detector", 20, "1+1", 1)
    first = row(case, 5.0, 0.1)
    result_file.write(placement_auto.TABLE, config, [first])
    known = placement_auto.stored(columns, config)
    monkeypatch.setattr(placement_auto, "solve", None)
    again = row(case, 5.0, 0.1, known[case.key])
    for column in ("bound us", "solver gap %", "auto"):
        assert again[column] == first[column]
    with pytest.raises(SystemExit, match=r"the stored bounds are of .* not of"):
        placement_auto.stored(columns, {"solve_s": 6.0})


def measured(**more: Any) -> dict[str, Any]:
    row = {"family": "detector", "tasks": 60, "auto": 1.0, "auto ms": 1.0, "anneal": 1.0}
    return {**row, "solver gap %": 0.0, **more}


def test_bars_hold_or_not() -> None:
    rows = [
        measured(),
        measured(tasks=1_000, auto=1.2, anneal=1.03, **{"solver gap %": 2.4}),
        measured(
            tasks=3_000, family="inception", anneal=1.07, **{"auto ms": 50.0, "solver gap %": 1.1}
        ),
    ]
    held = {bar["what"]: bar["holds"] for bar in bars(rows)}
    assert held == {
        "auto over the bound, median": "yes",
        "auto over the bound, worst": "no",
        "auto ms, 1,000 tasks, worst": "yes",
        "auto ms, 3,000 tasks, worst": "no",
        "anneal, detectors up to 1,000, worst": "no",
        "anneal, all up to 1,000, worst": "yes",
        "anneal, 3,000 tasks, worst": "yes",
        "solver's gap %, detector, 60 tasks, worst": "yes",
        "solver's gap %, detector, 1,000 tasks, worst": "yes",
        "solver's gap %, inception, 3,000 tasks, worst": "no",
    }
    assert [bar["what"] for bar in bars(rows[:1])] == [
        what for what in held if "1,000 tasks" not in what and "3,000" not in what
    ]


def test_a_stopped_run_keeps_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    asked: list[Case] = []

    def measure(case: Case, solve_s: float, anneal_s: float, known: object) -> dict[str, Any]:
        asked.append(case)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return measured(lanes=case.lanes, seed=case.seed, tasks=case.tasks)

    monkeypatch.setattr(placement_auto, "row", measure)
    words = ["--families", "detector", "--tasks", "60", "--solve", "1", "--anneal", "0.1"]
    monkeypatch.setattr(sys, "argv", ["placement_auto", *words])
    with pytest.raises(KeyboardInterrupt):
        placement_auto.main()
    placement_auto.main()
    assert [case.lanes for case in asked] == ["1+1", "2+2", "2+2"]
    assert len(result_file.read_rows(result_file.path_of(placement_auto.TABLE))) == 2
    assert result_file.read_rows(result_file.path_of(placement_auto.BARS))
