"""Rounds: every service has its turn, in the round's own order."""

from __future__ import annotations

import pytest

from surplus.colocation import PolicySpec, check_run, simulate
from surplus.colocation.frame.query import Outcome
from surplus.colocation.simulation.simulator import Run
from tests.colocation.settings import load_of, service, setting_of

ARRIVALS = [[0, 1, 2], [3]]


def served(slo_ms: tuple[float, float] = (100, 100), **options: object) -> Run:
    """The first service takes 10 ms, the second one 4."""
    services = [service("a", slo_ms[0]), service("b", slo_ms[1])]
    setting = setting_of(services, load_of(services, ARRIVALS), fixed_ms=[10, 4])
    run = simulate(setting, PolicySpec("rounds", "rounds", options))
    check_run(setting.load, services, run.deployment, run.record)
    return run


@pytest.mark.parametrize(
    ("options", "slo_ms", "wanted"),
    [
        ({}, (100, 100), [0, 1, 3, 2]),  # the round at 10 ms: a's second, then b's first
        ({"order": "time"}, (100, 100), [0, 3, 1, 2]),
        ({"order": "deadline"}, (100, 50), [0, 3, 1, 2]),
    ],
)
def test_a_round_serves_the_head_of_each_queue(
    options: dict[str, object], slo_ms: tuple[float, float], wanted: list[int]
) -> None:
    assert list(served(slo_ms, **options).record.piece_query) == wanted


def test_who_has_expired_at_its_turn_is_dropped() -> None:
    outcome = served((18, 100), expired=True).record.outcome
    names = [Outcome(o).name for o in outcome]
    assert names == ["IN_TIME", "LATE", "DROPPED", "IN_TIME"]
    assert Outcome(served((18, 100)).record.outcome[2]).name == "LATE"


def test_unknown_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="one of arrival, time, deadline"):
        served(order="size")
