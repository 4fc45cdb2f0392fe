"""One round of the lanes shows what as many queries as are in flight show."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from surplus.placement import make_policy, validate
from surplus.placement.periodic import PeriodicSchedule, periodic_schedule
from surplus.placement.periodic_check import check_periodic, periodic_violations
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.random_graphs import inception
from surplus.placement.timeline import Timeline
from surplus.placement.violation import Rule, Violation
from tests.placement.featured_problems import featured, placed


def unrolled(problem: Problem, placement: Placement, found: PeriodicSchedule) -> list[Violation]:
    turns = max(groups.count for groups in found.groups.values())
    return validate(problem, placement, found.unrolled(found.in_flight + 3 * turns))


def broken(found: PeriodicSchedule, chance: random.Random) -> PeriodicSchedule:
    """Queries come too often, or one's spans are moved."""
    if chance.random() < 0.5:
        return replace(found, interval_ns=max(1, int(found.interval_ns * chance.uniform(0.3, 1))))
    spans = list(found.timeline)
    at = chance.randrange(len(spans))
    moved = [span.later(chance.randrange(found.interval_ns)) for span in spans[at:]]
    return replace(found, timeline=Timeline.of(spans[:at] + moved, "broken"))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_what_queries_do_to_each_other_is_seen_in_a_round(first: int) -> None:
    judged = set()
    for seed in range(first, first + 100):
        problem = featured(seed, 2 + seed % 9)
        problem = replace(
            problem, devices=tuple(replace(device, slowdown=()) for device in problem.devices)
        )
        placement = placed(problem, seed)
        found = periodic_schedule(problem, placement)
        assert periodic_violations(problem, placement, found) == []
        wrong = broken(found, random.Random(seed))
        seen = {v.rule for v in periodic_violations(problem, placement, wrong)}
        shown = {v.rule for v in unrolled(problem, placement, wrong)}
        # So many queries may be too few for a thread to fall behind.
        assert shown <= seen <= shown | {Rule.THREAD}, seed
        judged |= seen
    assert judged >= {Rule.OVERLAP, Rule.LINK, Rule.PRECEDENCE}


def test_a_round_is_small_where_many_queries_are_in_flight() -> None:
    problem = inception(1, 60)
    placement = make_policy("balance").place(problem)
    found = periodic_schedule(problem, placement)
    assert found.in_flight > 20
    assert len(list(found.circle())) == 2 * len(list(found.timeline))
    check_periodic(problem, placement, found)
    with pytest.raises(ValueError, match=r"violations: overlap: .* on lane 0 of"):
        check_periodic(problem, placement, replace(found, interval_ns=found.interval_ns // 2))
