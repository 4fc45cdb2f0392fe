"""Which rate a way holds by its turns, and what batches lose, worked out by hand."""

from __future__ import annotations

import math

import pytest

from bench.models.batching_servers import AS_THEY_COME, DELAYED, OFF, TRITON
from bench.models.batching_turns import (
    ServedTurn,
    capacity_row,
    held_per_s,
    in_time,
    lost,
    rate_rows,
)


def turn(way: str, rate: float, number: int, late: int, **others: float) -> ServedTurn:
    found = ServedTurn(way, rate, number, 1000, late, float(late), 1.5, 0.0, 1)
    return found._replace(**others)


def rounds(way: str, rate: float, *late: int) -> list[ServedTurn]:
    return [turn(way, rate, number, each) for number, each in enumerate(late)]


@pytest.mark.parametrize(
    ("late", "held"),
    [
        ((10, 10, 10), True),  # 99 % to the query
        ((0, 0, 11), True),  # one turn was disturbed
        ((0, 11, 11), False),
        ((1000, 10, 0), True),
        ((11, 11, 11), False),
    ],
)
def test_a_rate_is_held_by_the_median_of_its_rounds(late: tuple[int, ...], held: bool) -> None:
    assert held_per_s(rounds(OFF, 100.0, *late), OFF) == (100.0 if held else 0.0)


def test_the_greatest_rate_that_is_held_counts() -> None:
    turns = rounds(OFF, 100.0, 0, 0, 0) + rounds(OFF, 110.0, 20, 20, 0)
    turns += rounds(OFF, 120.0, 9, 20, 9) + rounds(OFF, 130.0, 20, 20, 20)
    assert held_per_s(turns, OFF) == 120.0
    assert held_per_s(turns, DELAYED) == 0.0


def test_rounds_that_did_not_come_to_a_rate_keep_nothing_in_time() -> None:
    turns = [*rounds(OFF, 100.0, 0, 0, 0), turn(OFF, 110.0, 2, 0)]
    assert in_time(turns, OFF, 110.0) == 0.0
    assert held_per_s(turns, OFF) == 100.0
    turns.append(turn(OFF, 110.0, 0, 5))
    assert in_time(turns, OFF, 110.0) == pytest.approx(0.995)
    assert held_per_s(turns, OFF) == 110.0


def test_a_turn_without_queries_is_in_time() -> None:
    assert turn(OFF, 1.0, 0, 0, queries=0).in_time == 1.0


def test_what_is_lost_is_of_the_same_round() -> None:
    turns = rounds(OFF, 100.0, 10, 4, 9) + rounds(DELAYED, 100.0, 12, 5, 29)
    turns += rounds(DELAYED, 110.0, 500, 500, 500)
    assert lost(turns, DELAYED, 100.0) == 2
    turns += [turn(AS_THEY_COME, 100.0, 1, 0)]  # had fallen before in the other two
    assert lost(turns, AS_THEY_COME, 100.0) == 990
    assert math.isnan(lost(turns, DELAYED, 110.0))


def test_the_row_of_a_model() -> None:
    turns = rounds(OFF, 100.0, 10, 4, 9) + rounds(DELAYED, 100.0, 2, 1, 0)
    turns += rounds(AS_THEY_COME, 100.0, 0, 0, 1) + rounds(OFF, 150.0, 99, 99, 99)
    turns += rounds(DELAYED, 150.0, 10, 10, 10)
    turns[0] = turns[0]._replace(attempts=3)
    row = capacity_row("m", 50.0, turns)
    assert (row["one by one /s"], row["with a delay /s"], row["as they come /s"]) == (100, 150, 100)
    assert row["a delay over one by one"] == 1.5
    assert row["as they come over one by one"] == 1.0
    assert math.isnan(row["a delay over Triton"])
    assert (row["one by one late"], row["with a delay late"]) == (9, 1)
    assert (row["with a delay lost"], row["as they come lost"]) == (-8, -8)
    assert (row["queries at one by one's rate"], row["with a delay rows a call"]) == (1000, 1.5)
    assert (row["turns"], row["turns again"]) == (len(turns), 2)
    assert f"{TRITON} late" not in row


def test_nothing_is_compared_with_who_holds_no_rate() -> None:
    turns = rounds(OFF, 100.0, 99, 99, 99) + rounds(DELAYED, 100.0, 0, 0, 0)
    turns += rounds(AS_THEY_COME, 100.0, 0, 0, 0) + rounds(TRITON, 100.0, 50, 50, 50)
    row = capacity_row("m", 50.0, turns)
    assert (row["one by one /s"], row["Triton /s"]) == (0, 0)
    assert math.isnan(row["a delay over one by one"])
    assert math.isnan(row["as they come over Triton"])
    assert math.isnan(row["one by one late"])


def test_rates_are_shown_of_ways_that_most_rounds_asked() -> None:
    turns = rounds(OFF, 110.0, 500, 500) + rounds(OFF, 100.0, 0, 5, 10)
    turns += [*rounds(DELAYED, 100.0, 0, 0, 0), turn(DELAYED, 110.0, 1, 0)]
    low, high = rate_rows("m", turns)
    assert (low["rate /s"], high["rate /s"]) == (100.0, 110.0)
    assert low["one by one in time %"] == pytest.approx(99.5)
    assert (low["one by one p99 ms"], high["one by one p99 ms"]) == (5, 500)
    assert high["one by one in time %"] == pytest.approx(50)
    assert (high["with a delay in time %"], high["with a delay p99 ms"]) == ("", "")
