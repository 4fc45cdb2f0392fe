"""The tables over all policies: what is registered is what is run, and every query ends."""

from __future__ import annotations

import pytest

from bench.colocation.all import best_rows, scenario_names
from bench.colocation.conservation import ENDS, counted, measure, setting_of, sums
from surplus.colocation import policy_names
from surplus.colocation.results.capacity import BOUND

QUERIES = 1500


@pytest.mark.parametrize("policy", policy_names())
def test_queries_are_conserved_while_everything_changes(policy: str) -> None:
    row = counted(policy, QUERIES, seed=1)
    assert row["queries"] == sum(row[end] for end in ENDS) == len(setting_of(QUERIES, 1).load)
    assert min(row[name] for name in ("in_time", "failed", "rejected", "changes", "plans")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("policy", policy_names())
def test_a_million_queries_are_conserved(policy: str) -> None:
    found = sums([measure(policy, 100_000, seed) for seed in range(1, 12)])
    assert found[0]["queries"] > 1_000_000


def test_another_process_replays_a_run_to_the_last_bit() -> None:
    row = measure("abacus", QUERIES, seed=1)
    assert sums([row, counted("edf_drop", 200, 2)])[-1]["replayed"] == 1


def test_a_run_that_cannot_be_replayed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.colocation.conservation.again", lambda *_: {})
    assert measure("fcfs", 200, seed=2)["run"] == "2"
    with pytest.raises(ValueError, match="seed 1 does not replay"):
        measure("fcfs", 200, seed=1)


def test_a_row_for_each_scenario_with_the_best_first() -> None:
    rows = [
        {"scenario": "s", "policy": name, "goodput": goodput}
        for name, goodput in ((BOUND, 0.9), ("fcfs", 0.2), ("edf", 0.8), ("gslice", None))
    ]
    (row,) = best_rows(rows)
    assert row["best, % in time"] == "edf 80.0, fcfs 20.0"
    assert (row["policies"], row["fcfs"], row["bound"]) == ("2 of 3", "20.0", "90.0")
    assert row["below it, points"] == "10.0"


def test_all_scenario_files_are_found() -> None:
    names = scenario_names()
    assert "two_services" in names
    assert len(scenario_names("abacus_pairs/")) == 21
