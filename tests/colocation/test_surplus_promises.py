"""Certificates: who is admitted is in time as often as was promised, under drift, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.foresight import planner
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.policies.names import with_options
from surplus.colocation.policies.surplus.promises import Promises
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from surplus.colocation.truths.truth import Pace, PacedTruth
from tests.colocation.settings import MS, load_of, service, setting_of

QUERIES = 1500
"""Of each service."""
SERVICES = [service("a", slo_ms=30, max_batch=8), service("b", slo_ms=60, max_batch=8)]


def setting(mean_gap_ms: float, drift: tuple[float, ...]) -> Setting:
    """Two services, times that scatter, a device whose speed changes every second."""
    draw = np.random.default_rng(1)
    times = [np.cumsum(draw.exponential(mean_gap_ms, QUERIES)).tolist() for _ in SERVICES]
    made = setting_of(
        SERVICES,
        load_of(SERVICES, times, duration_ms=QUERIES * mean_gap_ms),
        [3, 5],
        [1, 1],
        [1000 / mean_gap_ms] * 2,
        knee_percent=50,
    )
    return replace(made, truth=PacedTruth(made.truth, Pace(1000 * MS, drift, (1.0, 1.0))))


def promised(made: Setting, **options: Any) -> Run:
    spec = replace(policy_spec("priced"), dispatcher="promised", dispatcher_options=options)
    done = simulate(made, spec)
    check_run(made.load, made.demand.services, done.deployment, done.record)
    return done


def refused(done: Run, made: Setting) -> int:
    """Queries that were turned away when they came."""
    rows = zip(done.record.outcome, done.record.ended_ns, made.load.arrival_ns, strict=True)
    return sum(o == Outcome.DROPPED and ended_ns == came_ns for o, ended_ns, came_ns in rows)


def broken(done: Run, made: Setting) -> float:
    """Share of the admitted queries that are not in time."""
    in_time = sum(outcome == Outcome.IN_TIME for outcome in done.record.outcome)
    return 1 - in_time / (len(made.load) - refused(done, made))


@pytest.mark.parametrize("drift", [(1.0,), (1.0, 1.3, 0.9, 1.5, 1.1, 1.4)])
@pytest.mark.parametrize("mean_gap_ms", [2.0, 4.0])
def test_promises_are_kept_as_often_as_was_said(
    mean_gap_ms: float, drift: tuple[float, ...]
) -> None:
    made = setting(mean_gap_ms, drift)
    assert broken(promised(made, promise=0.95), made) < 0.06


def test_a_promise_of_more_admits_fewer() -> None:
    made = setting(1.0, (1.0, 1.3))
    least, most = (refused(promised(made, promise=p), made) for p in (0.5, 0.99))
    assert least < most < len(made.load)


def test_promises_cost_little_where_there_is_too_much_to_do() -> None:
    made = setting(0.7, (1.0,))
    answered = [
        sum(outcome == Outcome.IN_TIME for outcome in done.record.outcome)
        for done in (promised(made, promise=0.99), simulate(made, policy_spec("priced")))
    ]
    assert answered[0] > 0.8 * answered[1]


def test_the_policy_that_chooses_promises_as_well() -> None:
    made = setting(4.0, (1.0, 1.3, 0.9, 1.5))
    done = simulate(made, with_options(policy_spec("surplus"), {"promise": 0.95}))
    check_run(made.load, made.demand.services, done.deployment, done.record)
    assert broken(done, made) < 0.06


def test_with_a_promise_only_ways_are_tried_that_it_is_made_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planner, "ways_for", lambda demand, groups: ["static", "edf", "columns"])
    demand = setting(1.0, (1.0,)).demand
    assert planner.Foresight(promise=0.95).plan(demand).mode == "columns"


def test_with_a_promise_it_stays_with_its_way_of_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is safe under one is not under another."""
    monkeypatch.setattr(planner, "_chosen", lambda *asked: "static" if asked[-1] else "columns")
    demand = setting(2.0, (1.0,)).demand
    modes = []
    for own in (planner.Foresight(promise=0.95), planner.Foresight()):
        first = own.plan(demand)
        modes.append((first.mode, own.plan(replace(demand, previous=first)).mode))
    assert modes == [("columns", "columns"), ("columns", "static")]


def test_a_promise_is_told_to_the_planner_that_chooses() -> None:
    told = with_options(policy_spec("surplus"), {"promise": 0.9, "sure": 0.5})
    assert told.planner_options == {"promise": 0.9}
    assert told.dispatcher_options == {"promise": 0.9, "sure": 0.5}


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="promise must be between 0 and 1"):
        Promises(1, probability)
    with pytest.raises(ValueError, match="promise must be between 0 and 1"):
        planner.Foresight(promise=probability)


def asked(number: int) -> Query:
    return Query(number, 0, number, 0, 100)


def test_a_broken_promise_moves_a_threshold_once() -> None:
    own = Promises(1, 0.9, step=0.1)
    first, second, late = (asked(number) for number in range(3))
    assert own.admits(first, 0.5, 0.9)
    assert own.admits(second, 0.05, 0.9)
    own.ended([first, second], 101)  # both are of the threshold before
    assert own.thresholds == [pytest.approx(0.09)]
    assert not own.admits(late, 0.05, 0.9)


def test_what_is_owed_is_paid_off_before_a_threshold_goes_down() -> None:
    own = Promises(1, 0.5, step=0.1)
    queries = [asked(number) for number in range(4)]
    for query in queries:
        assert own.admits(query, 0.5, 0.9)
    own.ended(queries[:2], 101)
    own.ended(queries[2:3], 100)
    assert own.thresholds == [pytest.approx(0.05)]
    own.ended(queries[3:], 100)
    assert own.thresholds == [pytest.approx(0.0)]


def test_a_light_load_does_not_make_it_promise_all() -> None:
    own = Promises(1, 0.5, step=0.1)
    queries = [asked(number) for number in range(50)]
    assert all(own.admits(query, 0.9, 0.9) for query in queries)
    own.ended(queries, 100)
    assert not own.admits(asked(50), -0.1, 0.9)
    assert own.admits(asked(51), 0.0, 0.9)


def test_on_another_machine_it_begins_again() -> None:
    own = Promises(1, 0.5, step=1.0)
    assert own.admits(asked(0), 0.4, 0.9)
    own.ended([asked(0)], 101)
    assert not own.admits(asked(1), 0.4, 0.9)
    own.forget()
    assert own.admits(asked(2), 0.4, 0.9)


def test_a_burst_is_paid_in_part() -> None:
    own = Promises(1, 0.5, step=0.1)
    queries = [asked(number) for number in range(200)]
    assert all(own.admits(query, 0.5, 0.9) for query in queries)
    own.ended(queries[:100], 101)
    own.ended(queries[100:105], 100)
    assert own.thresholds == [pytest.approx(0.05)]
    own.ended(queries[105:106], 100)
    assert own.thresholds == [pytest.approx(0.0)]


def test_who_is_shut_out_comes_in_again() -> None:
    own = Promises(1, 0.9, step=1.0)
    assert own.admits(asked(0), 0.2, 0.2)
    own.given_up([asked(0)], 50)
    tries = (own.admits(asked(number), 0.2, 0.2) for number in range(1, 100))
    assert any(tries)


def test_changes_failures_and_refusals_at_once_are_no_lessons() -> None:
    own = Promises(1, 0.9)
    queries = [asked(number) for number in range(3)]
    assert all(own.admits(query, 0.2, 0.2) for query in queries)
    own.given_up(queries[:1], 0)
    own.failed(queries[1:2])
    own.forget()
    own.ended(queries, 101)
    assert own.thresholds == [0.0]
