from __future__ import annotations

from collections.abc import Callable

import pytest

from surplus.engine.judging.paired_turns import PairedTurns, PairParams
from surplus.engine.profiling.intervals import Verdict

MS = 1_000_000
LONG = 10 * MS


def _play(
    turns: PairedTurns,
    own_ns: int,
    other_ns: int,
    queries: int,
    affords: Callable[[int], bool] = lambda lost_ns: True,
) -> str:
    """Who answered: A is the plan, B the runner-up."""
    answered = ""
    for _ in range(queries):
        of_runner_up = turns.wants_runner_up(own_ns, affords)
        turns.note(other_ns if of_runner_up else own_ns, of_runner_up=of_runner_up)
        answered += "AB"[of_runner_up]
    return answered


def test_long_queries_are_turns_in_pairs_that_begin_with_the_other_each_time() -> None:
    turns = PairedTurns(PairParams(most_pairs=4, confidence=0.9999999))
    assert _play(turns, LONG, LONG, 10) == "ABBAABBAAA"
    assert turns.ratio is not None
    assert (turns.ratio.median, turns.ratio.rounds) == (1.0, 4)
    assert turns.is_over


def test_short_queries_have_turns_of_several_whose_first_is_not_counted() -> None:
    turns = PairedTurns(PairParams(turn_ns=3 * MS))
    assert _play(turns, MS, MS, 4 * 4) == "AAAABBBBBBBBAAAA"
    cold = PairedTurns(PairParams(turn_ns=3 * MS))
    for took_ns in [MS] * 4:
        cold.wants_runner_up(MS, lambda lost_ns: False)
        cold.note(took_ns, of_runner_up=False)
    for took_ns in (9 * MS, 2 * MS, 2 * MS, 2 * MS):
        assert cold.wants_runner_up(MS, lambda lost_ns: True)
        cold.note(took_ns, of_runner_up=True)
    assert cold.ratio is not None
    assert cold.ratio.median == 2.0


def test_a_clear_gain_ends_it_soon() -> None:
    turns = PairedTurns(PairParams())
    assert _play(turns, LONG, LONG // 2, 18) == "ABBAABBAABBAABBAAA"
    assert turns.verdict is Verdict.FASTER
    assert turns.is_over


def test_a_clear_loss_ends_it_as_soon() -> None:
    turns = PairedTurns(PairParams())
    _play(turns, LONG, 2 * LONG, 18)
    assert turns.verdict is Verdict.SLOWER


def test_what_differs_by_nothing_stays_open_and_ends_all_the_same() -> None:
    turns = PairedTurns(PairParams(most_pairs=9))
    for pair in range(9):
        for of_runner_up in (False, True) if pair % 2 == 0 else (True, False):
            took_ns = round(LONG * (1.0 + 0.2 * (-1) ** pair)) if of_runner_up else LONG
            assert turns.wants_runner_up(LONG, lambda lost_ns: True) is of_runner_up
            turns.note(took_ns, of_runner_up=of_runner_up)
    assert turns.verdict is Verdict.OPEN
    assert turns.is_over
    assert not turns.wants_runner_up(LONG, lambda lost_ns: True)


@pytest.mark.parametrize(
    ("long_one_in", "verdict"), [(2, Verdict.FASTER), (3, Verdict.OPEN)], ids=["likely", "unlikely"]
)
def test_after_the_most_pairs_likely_is_enough(long_one_in: int, verdict: Verdict) -> None:
    """The plan takes 18 or 64 ms, the runner-up always 34, as DenseNet-121 beside a process."""
    turns = PairedTurns(PairParams(most_pairs=21))
    for pair in range(21):
        own_ns = 64 * MS if pair % long_one_in == 0 else 18 * MS
        for of_runner_up in (False, True) if pair % 2 == 0 else (True, False):
            assert turns.wants_runner_up(own_ns, lambda lost_ns: True) is of_runner_up
            turns.note(34 * MS if of_runner_up else own_ns, of_runner_up=of_runner_up)
    assert turns.verdict is verdict


def test_it_waits_until_what_may_be_lost_is_there() -> None:
    asked: list[int] = []

    def affords(lost_ns: int) -> bool:
        asked.append(lost_ns)
        return len(asked) > 3

    turns = PairedTurns(PairParams(doubt=0.5))
    assert _play(turns, LONG, 3 * LONG, 6, affords) == "AAAABB"
    assert asked[:4] == [LONG // 2] * 4  # nothing is known
    assert asked[4:] == [2 * LONG]  # it takes three times as long


def test_what_was_interrupted_begins_anew() -> None:
    turns = PairedTurns(PairParams(turn_ns=2 * MS))
    assert _play(turns, MS, MS, 5) == "AAABB"
    turns.interrupt()
    assert turns.ratio is None
    assert _play(turns, MS, MS, 6) == "AAABBB"
    assert turns.ratio is not None


@pytest.mark.parametrize("own_ns", [0, 1])
def test_queries_that_take_no_time(own_ns: int) -> None:
    turns = PairedTurns(PairParams())
    _play(turns, own_ns, own_ns, 200)
    assert turns.is_over
