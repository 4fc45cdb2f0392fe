"""Comparisons in turns: what is shown, what stays open, and when to stop."""

from __future__ import annotations

import random
from typing import Any

import pytest

from surplus.engine.contest.contest import Contest, ContestParams
from surplus.engine.profiling.intervals import Interval, Verdict, interval
from tests.runtime.pretended import Clock, Pretended

MS = 1_000_000
LONG = 100 * MS
"""A query longer than a block: one run a turn."""


def _contest(times: list[list[int]], baselines: int = 1, **params: Any) -> tuple[Contest, Clock]:
    clock = Clock()
    contenders = [Pretended(clock, row) for row in times]
    return Contest(contenders, baselines, ContestParams(**params), clock), clock


def test_the_interval_of_a_median() -> None:
    ratios = [0.9 + 0.01 * i for i in range(10)]
    # Ten throws: no head at all has probability 1/1024, at most one 11/1024 > 0.5 %.
    assert interval(ratios, 0.99) == Interval(0.9, pytest.approx(0.945), ratios[-1], 10)
    # At most one head: 1.1 % on either side.
    assert interval(ratios, 0.95) == Interval(ratios[1], pytest.approx(0.945), ratios[-2], 10)


def test_few_rounds_get_a_margin() -> None:
    assert interval([0.8, 0.9, 0.7], 0.99) == Interval(0.7 / 1.05, 0.8, 0.9 * 1.05, 3)
    assert interval([0.8, 0.9], 0.99).verdict(0.01) is Verdict.OPEN
    with pytest.raises(ValueError, match="no ratios"):
        interval([], 0.99)


def test_the_interval_encloses_the_median_as_often_as_it_says() -> None:
    rng = random.Random(1)
    inside = 0
    for _ in range(2_000):
        found = interval([rng.lognormvariate(0, 0.2) for _ in range(15)], 0.9)
        inside += found.low <= 1 <= found.high
    assert 0.9 <= inside / 2_000 <= 0.97


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.9, 0.999, Verdict.FASTER),
        (0.9, 1.1, Verdict.OPEN),
        (0.98, 1.0, Verdict.OPEN),
        (0.995, 1.2, Verdict.SLOWER),
        (1.1, 1.2, Verdict.SLOWER),
    ],
)
def test_verdicts(low: float, high: float, verdict: Verdict) -> None:
    assert Interval(low, 1.0, high, 20).verdict(min_gain=0.01) is verdict


def test_each_round_begins_with_the_next() -> None:
    clock, order = Clock(), []
    first, second = (Pretended(clock, [LONG], order) for _ in range(2))
    params = ContestParams(least_rounds=3, most_rounds=3)
    Contest([first, second], 1, params, clock).play(0)
    assert order[:-6] == [first, first, second, second]  # uncounted
    turns = order[-6:]
    assert turns == [first, second, second, first, first, second]


def test_a_short_query_is_repeated_and_its_first_run_is_not_counted() -> None:
    # Warm-up, an uncounted run, then until the block's 10 ms are over, then one traced run.
    contest, _ = _contest([[9 * MS, 9 * MS, MS]], least_rounds=1, most_rounds=1)
    contest.play(0)
    (turn,) = contest.turns(0)
    assert turn.wall_ns == MS
    assert turn.timeline.makespan_ns == MS


def test_a_long_query_is_run_once_a_turn() -> None:
    clock, order = Clock(), []
    contest = Contest(
        [Pretended(clock, [LONG], order)], 1, ContestParams(least_rounds=4, most_rounds=4), clock
    )
    contest.play(0)
    assert [turn.wall_ns for turn in contest.turns(0)] == [LONG] * 4
    assert len(order) <= 2 + 4


def test_a_machine_that_changes_speed_decides_nothing() -> None:
    """The second is always 4 % faster while the machine runs at anything from 1x to 3x."""
    clock = Clock()
    contenders = [
        Pretended(clock, [round(LONG * share)], speed=lambda: 2 + round(clock.now_ns / 5e9) % 2)
        for share in (1.0, 0.96)
    ]
    contest = Contest(contenders, 1, ContestParams(), clock)
    contest.play(clock.now_ns + 10**12)
    assert contest.winner == 1
    assert contest.against(1, 0).median == pytest.approx(0.96)


def _noisy(seed: int, scale: float) -> list[int]:
    rng = random.Random(seed)
    return [round(LONG * scale * rng.lognormvariate(0, 0.1)) for _ in range(500)]


@pytest.mark.parametrize("seed", range(5))
def test_a_clear_gain_is_found_under_noise(seed: int) -> None:
    contest, _ = _contest([_noisy(seed, 1.0), _noisy(seed + 50, 0.7), _noisy(seed + 90, 1.3)])
    contest.play(10**13)
    assert contest.winner == 1
    assert contest.verdict(2, 0) is Verdict.SLOWER


def test_no_gain_is_hardly_ever_found() -> None:
    wins = 0
    for seed in range(60):
        contest, _ = _contest([_noisy(seed, 1.0), _noisy(seed + 1000, 1.01)], most_rounds=20)
        contest.play(10**13)
        wins += contest.winner == 1
    assert wins <= 3


def test_play_ends_when_all_is_decided() -> None:
    contest, _ = _contest([[LONG], [LONG // 2], [LONG * 2]], least_rounds=3, most_rounds=40)
    contest.play(10**13)
    assert len(contest.rounds) == 3


def test_play_ends_at_the_deadline_after_the_least_rounds() -> None:
    alternating = [LONG, LONG * 2] * 100  # never decided against the first
    contest, clock = _contest([[LONG * 3 // 2], alternating], least_rounds=3)
    contest.play(0)
    assert len(contest.rounds) == 3
    before = clock.now_ns
    contest.play(before + 10 * LONG)
    assert 4 <= len(contest.rounds) <= 7
    assert clock.now_ns <= before + 10 * LONG


def test_losers_drop_out_and_so_does_the_slower_half_of_the_open_ones() -> None:
    rows = [[LONG * 3 // 2], *([LONG, LONG * 2 + i * MS] * 100 for i in range(4)), [LONG * 9]]
    contest, _ = _contest(rows, least_rounds=3, most_rounds=9)
    contest.play(10**13)
    assert [len(contest.turns(i)) for i in range(6)] == [9, 9, 8, 4, 4, 3]


def test_the_first_baseline_is_to_beat_on_a_tie() -> None:
    contest, _ = _contest([[LONG], [LONG]], baselines=2)
    contest.play(10**13)
    assert (contest.to_beat, contest.winner) == (0, 0)


def test_challengers_must_beat_the_best_baseline() -> None:
    # The third beats the first, but not the second.
    contest, _ = _contest([[LONG], [LONG // 2], [LONG * 3 // 4]], baselines=2)
    contest.play(10**13)
    assert (contest.to_beat, contest.winner) == (1, 1)


@pytest.mark.parametrize("baselines", [0, 3])
def test_baselines_out_of_range(baselines: int) -> None:
    with pytest.raises(ValueError, match=f"baselines must be 1 to 2, got {baselines}"):
        _contest([[1], [1]], baselines)
