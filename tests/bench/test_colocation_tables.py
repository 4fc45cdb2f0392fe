"""The tables over all policies: what is registered is what is run, and every query ends."""

from __future__ import annotations

import pytest

from bench.colocation_all import best_rows, scenario_names
from bench.colocation_conservation import measure, setting_of
from colocation import policy_names
from colocation.capacity import BOUND
from colocation.simulator import Setting


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_of(2200)


@pytest.mark.parametrize("policy", policy_names())
def test_queries_are_conserved_under_failures(setting: Setting, policy: str) -> None:
    row = measure(setting, policy)
    assert row["queries"] == len(setting.load)
    assert row["failed"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("policy", policy_names())
def test_a_million_queries_are_conserved(policy: str) -> None:
    setting = setting_of(1_000_000)
    assert measure(setting, policy)["queries"] == len(setting.load) > 990_000


def test_a_run_can_be_repeated(setting: Setting) -> None:
    rows = [measure(setting, "edf_drop") | {"queries_per_min": 0} for _ in range(2)]
    assert rows[0] == rows[1]


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
