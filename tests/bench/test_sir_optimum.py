"""Comm+SD beside the proven optimum, on a problem that is proven in a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Table
from bench.sir.optimum import ROWS, Study
from surplus.placement.families.registry import family_problem


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)


def test_every_policy_stands_beside_the_optimum() -> None:
    problem = family_problem("detector", 20, 1)
    keys = [("detector", lanes, name) for lanes in ("1", "2") for name in ROWS]
    study = Study(20.0, 0.1, lambda model, lanes: problem)
    rows = study.rows(Table("t", {}, ("model", "CPU lanes", "policy")), keys)
    assert [row["policy"] for row in rows] == list(ROWS) * 2
    best = rows[0]
    for row in rows[: len(ROWS)]:
        assert row["bound ms"] == best["bound ms"] <= row["makespan ms"]
        above = 100 * (row["makespan ms"] / best["makespan ms"] - 1)
        assert row["above the best plan %"] == pytest.approx(above, abs=1e-9)
        assert row["above the best plan %"] >= 0
    by_name = {row["policy"]: row for row in rows}
    assert by_name["Comm+SD as printed"] != by_name["Comm+SD as meant"]
