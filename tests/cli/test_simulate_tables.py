"""Tables of policies: the best first, those that decide alike once, and what the columns mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surplus.colocation import compare, read_scenario
from surplus.colocation.results.comparison import Compared
from surplus.engine.cli.main import main
from surplus.engine.cli.simulate_tables import alike, ranked, show_compared

SCENARIO = Path(__file__).parents[2] / "bench" / "configs" / "colocation" / "two_services.toml"


@pytest.fixture(scope="module")
def compared() -> list[Compared]:
    return compare(read_scenario(SCENARIO), ["fcfs", "temporal", "edf_drop", "temporal_drop"])[1]


def policies(compared: list[Compared]) -> list[str]:
    return [one.summary.policy for one in compared]


def test_most_in_time_comes_first(compared: list[Compared]) -> None:
    assert policies(ranked(compared)) == ["temporal", "temporal_drop", "edf_drop", "fcfs"]
    total = compared[0].summary.total
    late = replace(compared[0].summary, policy="slower", total=replace(total, p99_ns=10**12))
    slower = replace(compared[0], summary=late)
    assert policies(ranked([slower, compared[0]])) == ["fcfs", "slower"]


def test_those_of_the_same_figures_are_together(compared: list[Compared]) -> None:
    assert [policies(group) for group in alike(compared)] == [
        ["fcfs"],
        ["temporal", "temporal_drop"],
        ["edf_drop"],
    ]


def test_they_have_one_row_unless_decisions_are_timed(
    compared: list[Compared], capsys: pytest.CaptureFixture[str]
) -> None:
    show_compared("t", compared, timing=False)
    said = capsys.readouterr().out
    assert "the same as temporal in every figure, here: temporal_drop\n" in said
    assert said.count("temporal_drop") == 1
    show_compared("t", compared, timing=True)
    assert capsys.readouterr().out.count("temporal_drop") == 3


def test_the_verb_ranks_all_and_keeps_the_order_of_those_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", str(SCENARIO), "--policy", "fcfs,temporal"]) == 0
    said = capsys.readouterr().out
    assert said.index("fcfs") < said.index("temporal")
    assert "good/s, served/s: answers in time" in said
