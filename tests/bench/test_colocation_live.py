"""The live bench's own figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.colocation.live import FOLDER as SCENARIOS
from bench.colocation.live import _agrees, _ratio, _refused, bars, stored_of, table_of
from bench.colocation.out_of_sample import earlier, errors, predictions, simulated_at
from bench.infrastructure import result_file
from bench.infrastructure.bystanders import Bystanders
from surplus.colocation import read_scenario
from surplus.colocation.scenarios.live_file import read_to_measure
from surplus.colocation.truths.truth import Pace


def test_what_others_do_is_one() -> None:
    watch = Bystanders()
    work = "sum(k * k for k in range(3_000_000))"
    with watch.watched():
        subprocess.run([sys.executable, "-c", work], check=True)
    assert 0 < watch.share <= 1


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio"), [(3, 2, 1.5), (None, None, 1.0), (None, 2, float("inf"))]
)
def test_ratios(ours: int | None, theirs: int | None, ratio: float) -> None:
    assert _ratio(ours, theirs) == ratio


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_live_scenario_can_be_measured(path: Path) -> None:
    asked = read_to_measure(path)
    assert asked.path is not None
    assert asked.path.name == f"{path.stem}.profile.json"
    assert all(
        batch[-1] == most for batch, most in zip(asked.batches, asked.most_items, strict=True)
    )


def test_tables_at_all_loads_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    assert stored_of("four") == []
    for name in ("four", "four_shares"):
        for times in (1, 1.5):
            (tmp_path / f"{table_of(name, times)}.json").touch()
    (tmp_path / f"{table_of('four', 2)}.part.json").touch()
    found = dict(stored_of("four"))
    assert list(found) == ["four", "four, 1.5 times as often"]
    assert found["four"].name == "colocation_live_four.json"


@pytest.mark.parametrize(
    ("ratio", "ours", "theirs", "word"),
    [
        (1.15, 0.23, 0.2, "yes"),
        (0.85, 0.009, 0.0, "yes"),
        (0.8, 0.2, 0.2, "violations"),
        (1.0, 0.24, 0.2, "p99"),
        (float("inf"), 0.5, 0.2, "no"),
    ],
)
def test_what_agrees(ratio: float, ours: float, theirs: float, word: str) -> None:
    assert _agrees(ratio, ours, theirs) == word


def test_a_slower_machine_is_slower_in_the_simulation_beside_it() -> None:
    scenario = read_scenario(SCENARIOS / "two_cpu.toml")
    ends_ns = [
        simulated_at(scenario, "fcfs", Pace(10**9, (speed,), (1.0, 1.0))).summary.total.p99_ns
        for speed in (0.5, 1.0, 2.0)
    ]
    assert ends_ns[0] < ends_ns[1] < ends_ns[2]


def test_a_prediction_is_made_of_another_run() -> None:
    """A machine that is half as fast as its profile: known from another trace, not without it."""
    scenario = read_scenario(SCENARIOS / "two_cpu.toml")
    slow = Pace(10**9, (1.5, 2.5), (1.0, 1.0))
    other = simulated_at(earlier(scenario), "edf", slow).run
    live = simulated_at(scenario, "edf_drop", slow).summary.total
    told, plain = predictions(scenario, other, emulated=False)
    assert len(told.pace.windows) == 1
    found = {own.name: own.columns("edf_drop", live) for own in (told, plain)}
    assert found["another run"]["p99 ratio, another run"] == pytest.approx(1, abs=0.3)
    far = abs(found["no pace"]["points off, no pace"])
    assert abs(found["another run"]["points off, another run"]) < far
    rows = [{**found["another run"], **found["no pace"]}, {"note": "refused"}]
    assert errors(rows, 0.15)["points off, no pace"] == far
    assert set(errors(rows[1:], 0.15).values()) == {"-"}
    emulated, _ = predictions(scenario, other, emulated=True)
    assert emulated.host_ns > 0


def test_what_a_table_comes_to() -> None:
    def row(policy: str, lost: float, agrees: str, wait: float) -> dict[str, object]:
        own = {"policy": policy, "late or lost %": lost, "agrees": agrees, "wait": wait}
        return own | {"note": ""}

    rows = [
        row("fcfs", 25.0, "yes", 0.2),
        row("edf", 0.5, "p99", 0.4),
        row("sjf", 1.5, "no", 1.2),
        _refused("gslice", "no such share"),
    ]
    found = bars("two", rows)
    assert found["policies"] == "3 of 4"
    assert (found["p99 within 15 %"], found["violations too"]) == (2, 1)
    assert (found["best"], found["starved under"]) == ("edf", "sjf")
    assert found["99 and < 80 %"] == "yes"
    assert found["surplus"] == "-"
    assert bars("two", [*rows, row("surplus", 0.25, "yes", 0.1)])["surplus"] == 99.75
    rows[0] = row("fcfs", 15.0, "yes", 0.2)
    assert bars("two", rows)["99 and < 80 %"] == "no"
