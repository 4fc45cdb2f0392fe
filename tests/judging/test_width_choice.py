"""The choice between one thread and a pool, by times that are given."""

from __future__ import annotations

import pytest

from surplus.engine.judging.width_choice import Width, WidthChoice, WidthParams

PARAMS = WidthParams()
EACH = PARAMS.warm_up + PARAMS.runs


def after(narrow_ns: int, wide_ns: int, queries: int) -> WidthChoice:
    choice = WidthChoice(PARAMS)
    for _ in range(queries):
        choice.note(narrow_ns if choice.now is Width.NARROW else wide_ns)
    return choice


@pytest.mark.parametrize(
    ("narrow_ns", "wide_ns", "verdict"),
    [
        (500_000, 300_000, Width.WIDE),
        (300_000, 500_000, Width.NARROW),
        (500_000, 505_000, Width.WIDE),  # not enough to open the session anew
        (500_000, 530_000, Width.NARROW),
    ],
)
def test_the_faster_stays(narrow_ns: int, wide_ns: int, verdict: Width) -> None:
    assert after(narrow_ns, wide_ns, 2 * EACH).verdict is verdict
    assert after(narrow_ns, wide_ns, 2 * EACH - 1).verdict is None
    assert 2 * EACH <= 30, "within the first 30 queries"


def test_short_queries_never_wake_a_pool() -> None:
    choice = after(PARAMS.short_ns, 1, EACH)
    assert (choice.now, choice.verdict) == (Width.NARROW, Width.NARROW)
    assert choice.narrow_ns == PARAMS.short_ns


def test_the_first_queries_of_each_width_do_not_count() -> None:
    choice = WidthChoice(PARAMS)
    for width, usual_ns in ((Width.NARROW, 500_000), (Width.WIDE, 400_000)):
        for number in range(EACH):
            assert choice.now is width
            choice.note(10**9 if number < PARAMS.warm_up else usual_ns)
    assert choice.verdict is Width.WIDE
    assert choice.narrow_ns == 500_000


def test_a_single_slow_query_changes_nothing() -> None:
    choice = WidthChoice(PARAMS)
    for number in range(2 * EACH):
        slow = number % EACH == EACH - 1
        choice.note(10**9 if slow else 500_000 if choice.now is Width.NARROW else 300_000)
    assert choice.verdict is Width.WIDE


def test_it_may_be_widened_at_once() -> None:
    choice = WidthChoice(PARAMS)
    choice.widen()
    choice.note(1)
    assert (choice.now, choice.verdict, choice.narrow_ns) == (Width.WIDE, Width.WIDE, 0)
