"""Contests while others take of the cores: what only wins because of that does not win."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import pytest

from surplus.engine.contest.conditions import Conditions
from surplus.engine.contest.contest import Contest, ContestParams
from surplus.engine.profiling.disturbance import Disturbance
from tests.runtime.pretended import Clock, Pretended

MS = 1_000_000
LONG = 100 * MS
NARROW, WIDE = 0, 1


class Taken:
    """A watch that says of each round which share of the cores others took; the last one stays."""

    def __init__(self, shares: Sequence[float]) -> None:
        self._shares: Iterator[float] = chain(shares, repeat(shares[-1]))

    def lately(self, since_ns: int) -> Disturbance:
        return Disturbance(taken=next(self._shares))

    def overall(self) -> Disturbance:
        return Disturbance(taken=0.3)


def _played(
    times: Sequence[Sequence[int]], shares: Sequence[float], fallback: int | None, rounds: int = 12
) -> Contest:
    clock = Clock()
    contenders = [Pretended(clock, row) for row in times]
    params = ContestParams(most_rounds=rounds)
    conditions = Conditions(Taken(shares), fallback)
    contest = Contest(contenders, 2, params, clock, conditions)
    contest.play(10**13)
    return contest


def test_a_narrow_plan_does_not_win_because_a_core_was_taken() -> None:
    """As DenseNet-121 beside a busy process: x1 takes 34 ms and x2 64, without it 18."""
    contest = _played([[34 * MS], [64 * MS]], [0.4], WIDE)
    assert contest.is_disturbed
    assert contest.winner == WIDE
    assert len(contest.rounds) == 12  # it went on for as long as it might
    assert contest.disturbance == Disturbance(taken=0.3)


def test_without_anybody_else_it_wins_if_it_is_faster() -> None:
    contest = _played([[34 * MS], [64 * MS]], [0.05], WIDE)
    assert not contest.is_disturbed
    assert contest.winner == NARROW
    assert len(contest.rounds) == 3


def test_quiet_rounds_alone_decide_once_there_are_enough() -> None:
    disturbed = 4
    wide = [*[64 * MS] * (2 + disturbed), 18 * MS]
    contest = _played([[34 * MS], wide], [*[0.4] * disturbed, 0.0], NARROW)
    assert not contest.is_disturbed
    assert contest.winner == WIDE
    assert contest.against(WIDE, NARROW).median == pytest.approx(18 / 34)
    assert contest.against(WIDE, NARROW).rounds == 3
    assert len(contest.rounds) == disturbed + 3


def test_nobody_drops_out_for_what_was_disturbed() -> None:
    contest = _played([[LONG], [2 * LONG], [3 * LONG]], [0.5], WIDE, rounds=9)
    assert [len(contest.turns(i)) for i in range(3)] == [9, 9, 9]


def test_a_challenger_is_not_shown_to_be_faster_by_disturbed_rounds() -> None:
    times = [[LONG], [LONG], [LONG // 2]]
    assert _played(times, [0.5], WIDE).winner == WIDE
    assert _played(times, [0.0], WIDE).winner == 2


def test_where_there_is_nothing_to_fall_back_to_turns_decide_all_the_same() -> None:
    contest = _played([[34 * MS], [64 * MS]], [0.4], None)
    assert contest.is_disturbed
    assert contest.winner == NARROW
    assert len(contest.rounds) == 3


def test_who_dropped_out_before_the_quiet_rounds_is_known_by_those_it_played() -> None:
    """Where no plan is given that would do, disturbed rounds let losers drop out."""
    times = [[LONG], [LONG], [3 * LONG]]
    contest = _played(times, [*[0.4] * 3, 0.0], None, rounds=9)
    assert len(contest.turns(2)) < len(contest.rounds)
    assert not contest.is_disturbed
    assert contest.against(2, NARROW).median == pytest.approx(3)
