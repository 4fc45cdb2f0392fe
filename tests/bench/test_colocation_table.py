"""The table over families: how far below the best other policy each one is."""

from __future__ import annotations

from typing import Any

import pytest

from bench.colocation.drawn_scenarios import drawn
from bench.colocation.table import below, of_ours, summaries


def row(seed: int, load: float, **goodput: float | None) -> dict[str, Any]:
    names = goodput.keys()
    return {
        "family": "f",
        "seed": seed,
        "load": load,
        "bound": 0.9,
        "goodput": goodput,
        "fairness": dict.fromkeys(names, 1.0),
        "decision_us": dict.fromkeys(names, 10.0),
    }


ROWS = [row(1, 0.5, a=0.9, b=0.8, c=None), row(2, 1.0, a=0.5, b=0.7, c=0.6)]


def test_a_policy_is_held_against_the_best_of_the_others() -> None:
    assert below(ROWS[0], "a") == pytest.approx(-10)
    assert below(ROWS[1], "a") == pytest.approx(20)
    assert below(ROWS[0], "c") is None


def test_our_own_policies_are_no_others_of_each_other() -> None:
    own = row(1, 0.5, surplus=0.8, priced=0.9, a=0.7)
    assert below(own, "surplus") == pytest.approx(-10)
    assert below(own, "a") == pytest.approx(20)


def test_the_closest_to_the_best_comes_first() -> None:
    found = {one["policy"]: one for one in summaries(ROWS)}
    assert list(found) == ["b", "a", "c"]
    assert found["a"]["mean below the best, points"] == pytest.approx(5)
    assert found["a"]["worst"] == pytest.approx(20)
    assert found["a"]["% of the bound, load <= 0.85"] == pytest.approx(100)
    assert found["c"]["scenarios"] == "1 of 2"


def test_ours_is_summed_up_by_load() -> None:
    rows = [
        row(1, 0.5, surplus=0.9, a=0.8),
        row(2, 0.5, surplus=0.7, a=0.8),
        row(1, 1.0, surplus=0.5, a=0.4),
    ]
    light, full = of_ours(rows, "load")
    assert (light["load"], light["scenarios"], light["more than 3 below"]) == (0.5, 2, 1)
    assert light["mean below the best other, points"] == pytest.approx(0)
    assert light["worst"] == pytest.approx(10)
    assert full["% of the bound"] == pytest.approx(100 * 0.5 / 0.9, abs=0.01)


def test_a_family_of_measurements_needs_them() -> None:
    with pytest.raises(ValueError, match="'pairs' needs --data"):
        drawn("pairs", 1, ())
