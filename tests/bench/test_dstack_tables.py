"""D-STACK's tables: both settings beside everybody else, and its ideal."""

from __future__ import annotations

import pytest

from bench.dstack.compared import AT_KNEE, COMPARED, DSTACK, OWN, TEMPORAL
from bench.dstack.convnets import always_busy, use_and_inferences
from bench.dstack.gains import SETTINGS, bar_rows, summary_row
from bench.dstack.golden import CONVNETS

MS = 1_000_000
NUMBERS = ("misses %", "in time / s", "served / s", "device in use %", "fairness")


def test_the_papers_settings_are_the_defaults_and_ours_an_ablation() -> None:
    assert COMPARED[DSTACK].planner_options == {"spare_percent": 5, "reduced": 0.6}
    assert COMPARED[AT_KNEE].planner_options == {}
    assert set(OWN) < set(COMPARED)


def test_a_summary_names_the_best_of_the_others() -> None:
    rows = {
        label: dict.fromkeys(NUMBERS, float(place + 1)) | {"policy": label, "paper": "-"}
        for place, label in enumerate(COMPARED)
    }
    rows[TEMPORAL]["in time / s"] = 100.0
    summary = [summary_row("c7", label, rows) for label in SETTINGS]
    assert {row["best of others"] for row in summary} == {TEMPORAL}
    assert summary[0]["over temporal"] == pytest.approx(0.01)
    bars = bar_rows(summary)
    assert [row["setting"] for row in bars[:2]] == list(SETTINGS)
    assert {row["scenario"] for row in bars} == {"c7"}
    assert [row["holds"] for row in bars if row["figure"] == "misses %"] == [True, True]


@pytest.mark.parametrize("label", SETTINGS)
def test_the_dispatcher_keeps_three_busy_models_on_one_device(label: str) -> None:
    """Better than one at a time, which takes 40 ms for an inference of each; at most 100 %."""
    duration_ms = 400
    scenario = always_busy(CONVNETS, duration_ms * MS)
    used, inferences = use_and_inferences(scenario, COMPARED[label])
    one_by_one = 3 * duration_ms / sum(took_ms for _, took_ms in CONVNETS.values())
    assert 0.5 < used <= 1
    assert inferences > 1.3 * one_by_one
