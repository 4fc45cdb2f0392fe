"""Cuts where memory limits a placement: those of tighter placements hold more at once and fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from surplus.engine.errors import PlacementError
from surplus.engine.planning import candidates as module
from surplus.engine.planning.stages import Costs
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from tests.placement.several_gpus import chain_too_large_for_one

Place = Callable[[Problem], Placement]


def cut(name: str, makespan_ns: int) -> Candidate:
    """As much of a cut as it is ranked by."""
    made = SimpleNamespace(groups=()), SimpleNamespace(makespan_ns=makespan_ns)
    return Candidate(name, *cast(tuple[Any, Any], made))


def cuts_of(
    monkeypatch: pytest.MonkeyPatch, cuts: dict[float, Sequence[int]], place: Place | None = None
) -> list[str]:
    """What is found where a placement within a share has cuts of these lengths."""
    problem: Problem = chain_too_large_for_one(2)
    most = problem.devices[1].memory_bytes

    def placed(limited: Problem) -> Placement:
        share = limited.devices[1].memory_bytes / most  # type: ignore[operator]
        return Placement((), (), f"{share:.2f}")

    def candidates(costs: Costs, placement: Placement, params: object = None) -> list[Candidate]:
        lengths = cuts.get(float(placement.policy), ())
        return [cut(f"cut {ns}", ns) for ns in lengths]

    monkeypatch.setattr(module, "candidates", candidates)
    costs = Costs(problem, ServiceTimes.of(problem))
    first = Placement((), (), "1")
    return [one.name for one in module._fitting_cuts(costs, first, place or placed)]


def test_tighter_placements_are_tried_as_long_as_they_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fits", lambda problem, placement: False)
    found = cuts_of(monkeypatch, {1.0: [9], 0.95: [7, 8], 0.9: [7], 0.8: [1]})
    assert found == ["cut 9", "within 0.95, cut 7", "within 0.95, cut 8", "within 0.9, cut 7"]
    assert cuts_of(monkeypatch, {0.8: [5]}) == ["within 0.8, cut 5"]


def test_what_does_not_fill_a_memory_is_placed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "fits", lambda problem, placement: True)
    assert cuts_of(monkeypatch, {1.0: [9], 0.95: [7]}) == ["cut 9"]


def test_a_limit_within_which_nothing_fits_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(problem: Problem) -> Placement:
        raise PlacementError("too small")

    monkeypatch.setattr(module, "fits", lambda problem, placement: False)
    assert cuts_of(monkeypatch, {1.0: [9]}, refused) == ["cut 9"]
