"""Abacus's benches: sittings that end in time, and what the runs come to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.abacus.bars import ABACUS, NO_ROOM, PERFECT, bars, by_policy
from bench.abacus.models import FOLDER
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import fill_within
from surplus.colocation.overlap.group_times import load_group_times
from surplus.colocation.overlap.latency_model import load_latency_model

KEYS: list[Key] = [("a",), ("b",), ("c",)]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    return tmp_path


def measure(key: Key) -> Row:
    return {"of": key[0]}


def test_a_sitting_ends_in_time_and_the_next_one_goes_on(results: Path) -> None:
    table = Table("t", {}, ("of",))
    assert not fill_within(table, KEYS, measure, seconds=-1)
    assert not (results / "t.json").exists()
    table.add(measure(("a",)))
    again = Table("t", {}, ("of",))
    assert again.missing(KEYS) == KEYS[1:]
    assert fill_within(again, KEYS, measure, seconds=60)
    rows = json.loads((results / "t.json").read_text())["rows"]
    assert [row["of"] for row in rows] == ["a", "b", "c"]


def figures(served: float, violations: float) -> dict[str, float]:
    return {
        "p99_of_target": 1.0,
        "violations": violations,
        "served_per_s": served,
        "goodput_per_s": served * (1 - violations),
        "offered_per_s": 100.0,
    }


def rows() -> list[Row]:
    policies = {
        "fcfs_expired": figures(60, 0.5),
        "sjf_expired": figures(75, 0.25),
        "fcfs_drop": figures(70, 0.2),
        ABACUS: figures(90, 0.1),
        PERFECT: figures(90, 0.05),
    }
    return [{"pair": NO_ROOM, "load": load, "policies": policies} for load in ("50", "100")]


def test_the_bars_are_ratios_of_means() -> None:
    ours = {row["what"]: row["ours"] for row in bars(rows())}
    assert ours["served_per_s at 100, against fcfs_expired"] == 0.5
    assert ours["violations at 50, against fcfs_expired"] == -0.8
    assert ours["goodput_per_s at 100, against fcfs_drop"] == pytest.approx(0.4464)
    assert ours[f"violations at 100, more than {PERFECT}"] == 0.05
    assert ours[f"served_per_s of {NO_ROOM} at 100, against fcfs_expired"] == 0.5
    assert ours[f"goodput_per_s of {NO_ROOM} at 50, against fcfs_expired"] == pytest.approx(1.7)


def test_goodput_is_the_share_of_what_was_offered() -> None:
    lines = {row["policy"]: row for row in by_policy(rows(), "100")}
    assert lines[ABACUS]["goodput"] == 0.81


def test_the_shipped_models_are_small_and_know_the_same() -> None:
    truth = load_group_times(FOLDER / "truth.npz")
    for name, slots in (("mlp", 2), ("linear", 2), ("svm", 2), ("mlp_four", 4)):
        path = FOLDER / f"{name}.npz"
        layout = load_latency_model(path).layout
        assert (layout.models, layout.operators) == (truth.layout.models, truth.layout.operators)
        assert layout.slots == slots
        assert path.stat().st_size < 14_000
