"""The column policy: shares as they are needed, larger batches for a price, nobody forgotten."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.deployment import check_deployment
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Service
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.policies.names import with_options
from surplus.colocation.policies.surplus.fair_share import FairShare
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.levels import levels_of
from surplus.colocation.policies.surplus.planner import Columns
from surplus.colocation.policies.surplus.quantile import QuantileTracker
from surplus.colocation.results.metrics import summarise
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from tests.colocation.settings import MS, load_of, service, setting_of


def run(setting: Setting, policy: str = "priced", **options: Any) -> Run:
    spec = replace(policy_spec(policy), dispatcher_options=options)
    done = simulate(setting, spec)
    check_run(setting.load, setting.demand.services, done.deployment, done.record)
    return done


def in_time(done: Run) -> int:
    return sum(outcome == Outcome.IN_TIME for outcome in done.record.outcome)


def test_levels_are_as_wide_as_more_helps() -> None:
    services = [service("a", slo_ms=50, max_batch=8)]
    setting = setting_of(services, load_of(services, [[0]]), [4], [1], knee_percent=40)
    shares = [level.share_percent for level in levels_of(setting.demand, 0, 0.04, 99)]
    assert shares[-1] == 40
    assert shares[0] == 5  # 5 ms at 40 % are 40 ms at 5 %
    two = levels_of(setting.demand, 0, 0.04, 2)
    assert [level.share_percent for level in two] == [5, 40]
    assert two[1].batch == 8


def test_a_deployment_keeps_to_the_memory() -> None:
    services = [replace(service(name, max_batch=4), memory_bytes=40) for name in "abc"]
    setting = setting_of(services, load_of(services, [[0]] * 3), [4] * 3, [1] * 3, [1] * 3)
    device = replace(setting.demand.devices[0], memory_bytes=100)
    demand = replace(setting.demand, devices=(device,))
    found = Columns().plan(demand)
    check_deployment(found, demand.services, demand.devices)
    assert len(found.assignments) == 2
    assert [lost.service for lost in found.shortfalls] == [2]


def test_services_run_side_by_side_at_their_knees() -> None:
    services = [service("a", slo_ms=12, max_batch=4), service("b", slo_ms=12, max_batch=4)]
    load = load_of(services, [[0, 10, 20], [0, 10, 20]])
    setting = setting_of(services, load, [8, 8], rates_per_s=[100, 100], knee_percent=50)
    assert in_time(run(setting)) == 6


@given(tasks=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_what_earliest_deadline_first_can_keep_is_kept(tasks: list[tuple[int, int]]) -> None:
    """All come at once behind a blocker, each of its own length and deadline."""
    services = (Service("blocker", 1, 1), *(service(f"s{k}", d) for k, (_, d) in enumerate(tasks)))
    load = load_of(services, [[0]] * len(services))
    took = [length for length, _ in tasks]
    setting = setting_of(services, load, [1 / MS, *took], rates_per_s=[1.0] * len(services))
    object.__setattr__(load, "deadline_ns", load.deadline_ns + 1)
    order = sorted(range(len(tasks)), key=lambda k: tasks[k][1])
    ends = itertools.accumulate(took[k] for k in order)
    if all(end <= tasks[k][1] for k, end in zip(order, ends, strict=True)):
        assert in_time(run(setting)) == len(services)


def test_too_much_load_is_served_in_large_batches() -> None:
    """Two queries a millisecond; alone one takes 11 ms, 16 together 26 ms."""
    services = [service("a", slo_ms=40, max_batch=16)]
    load = load_of(services, [[k / 2 for k in range(1000)]], duration_ms=500)
    setting = setting_of(services, load, [10], [1], rates_per_s=[2000])
    done = run(setting)
    late = [size for size in list(done.record.piece_items)[12:-2] if size < 12]
    assert not late
    assert in_time(done) > 0.5 * 500 / 26 * 16


def test_who_gives_many_up_does_not_go_on_with_small_batches() -> None:
    """The first query has little time left when a share is free: it alone fits, others wait on."""
    services = [service("urgent", slo_ms=30, max_batch=32), service("long", 250, max_batch=32)]
    draw, rates = np.random.default_rng(1), (1500, 100)
    times = [np.cumsum(draw.exponential(1000 / rate, int(1.5 * rate))).tolist() for rate in rates]
    load = load_of(services, times, duration_ms=1500)
    setting = setting_of(services, load, [3, 8], [0.3, 2], rates)
    usual, regrouped = run(setting, regroup=1.0), run(setting)
    assert in_time(regrouped) > 1.15 * in_time(usual)


def test_times_are_learnt_with_a_margin() -> None:
    ratios = TimeRatios(2, 0.9)
    for k in range(2000):
        ratios.took(1, 1000, 1300 + 100 * (k % 10))
    assert ratios.mean[1] == pytest.approx(1.75, rel=0.1)
    assert ratios.bound[1] == pytest.approx(2.15, abs=0.1)
    assert ratios.mean[0] == ratios.bound[0] == 1.0


def test_neighbours_that_disturb_are_allowed_for() -> None:
    services = [service("a", slo_ms=18, max_batch=8), service("b", slo_ms=18, max_batch=8)]
    times = [[k * 3.0 for k in range(300)], [k * 3.0 + 1 for k in range(300)]]
    quiet = setting_of(services, load_of(services, times), [4, 4], [1, 1], [333] * 2)
    disturbed = replace(quiet, interference=Pairwise(["a", "b"], 0.3))
    late = sum(outcome == Outcome.LATE for outcome in run(disturbed).record.outcome)
    assert late < 0.08 * 600


def test_a_guarantee_is_kept_at_a_cost() -> None:
    services = [service("cheap", slo_ms=20, max_batch=4), service("dear", slo_ms=60)]
    times = [[float(k) for k in range(4500)], [k * 18.0 for k in range(250)]]
    setting = setting_of(services, load_of(services, times), [4, 15], [2, 0], [1000, 55])
    plain, fair = run(setting), run(setting, guarantee=0.2)

    def goodputs(done: Run) -> list[float]:
        tallies = summarise(done, setting.load, setting.demand.services, 1).services
        return [tally.goodput for tally in tallies]

    assert min(goodputs(plain)) < 0.02 < 0.1 < min(goodputs(fair))
    assert in_time(fair) < in_time(plain)


def test_who_is_refused_by_a_full_queue_is_counted_too() -> None:
    """Nearly all of them are, of a service that seldom gets the device."""
    services = [service("cheap", slo_ms=20), service("dear", slo_ms=60, max_queue=1)]
    random = np.random.default_rng(3)
    times = [sorted(random.uniform(0, 4000, count).tolist()) for count in (1400, 400)]
    setting = setting_of(services, load_of(services, times), [3, 15], [0, 0], [350, 100])
    done = run(setting, guarantee=0.3)
    assert summarise(done, setting.load, services, 1).services[1].goodput > 0.12


def test_weights_say_who_is_dear() -> None:
    services = [service("a", slo_ms=20, max_batch=1), service("b", slo_ms=20, max_batch=1)]
    times = [[k * 5.0 for k in range(100)], [k * 5.0 for k in range(100)]]
    setting = setting_of(services, load_of(services, times), [4, 5], rates_per_s=[200, 200])
    plain, weighed = run(setting), run(setting, weights={"b": 3.0})

    def of_b(done: Run) -> float:
        return summarise(done, setting.load, setting.demand.services, 1).services[1].goodput

    assert of_b(weighed) > of_b(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"c": 1.0}}, "unknown service 'c'"),
        ({"weights": {"a": 0.0}}, "weights must be > 0"),
        ({"weights": 3}, "weights: expected"),
        ({"guarantee": "much"}, "guarantee: expected `float`"),
        ({"sure": 1.0}, "sure between 0 and 1"),
        ({"fill": 2.0}, "must be 0 to 1"),
        ({"patience": 0.0}, "patience must be > 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    services = [service("a", slo_ms=20)]
    setting = setting_of(services, load_of(services, [[0]]), [4])
    with pytest.raises(ValueError, match=message):
        run(setting, **options)


def test_without_a_guarantee_queries_are_worth_what_they_are() -> None:
    values = [2.0]
    assert not FairShare(values, 0.0).departed(0, 0, 100)
    assert values == [2.0]


def test_queries_are_worth_more_until_their_service_has_its_share() -> None:
    values = [2.0, 1.0]
    fair = FairShare(values, 0.5)
    assert fair.departed(0, 0, 100)
    lacked = values[0]
    assert lacked > 2.0 * 2
    assert fair.departed(0, 30, 10)
    assert 2.0 < values[0] < lacked
    assert fair.departed(0, 100, 0)
    assert not fair.departed(0, 100, 0)
    assert not fair.departed(1, 10, 10)
    assert values == [2.0, 1.0]


def test_what_cannot_be_had_is_not_worth_more_and_more() -> None:
    values = [1.0, 1.0]
    fair = FairShare(values, 1.0)
    for _ in range(10_000):
        fair.departed(0, 4, 6)
        fair.departed(1, 2, 8)
    assert log(values[0]) == pytest.approx(0.6 * 20, rel=0.01)
    assert log(values[1]) == pytest.approx(0.8 * 20, rel=0.01)


@pytest.mark.parametrize("drift", [1.0, 1.0005])
def test_a_quantile_is_kept_under_drift(drift: float) -> None:
    tracker = QuantileTracker(0.9)
    above, scale, word = 0, 1.0, 1
    for _ in range(20_000):
        word = word * 6364136223846793005 % 2**64
        scale *= drift
        value = scale * (1 + word / 2**64)
        above += value > tracker.value
        tracker.seen(value)
    assert above / 20_000 == pytest.approx(0.1, abs=0.01)


def test_batches_are_shorter_where_others_cannot_wait_for_them() -> None:
    services = [service("urgent", slo_ms=20, max_batch=4), service("patient", 400, max_batch=16)]
    times = [[k * 4.0 for k in range(750)], [k * 5.0 for k in range(600)]]
    load = load_of(services, times, duration_ms=3000)
    setting = setting_of(services, load, [1, 10], [0, 3], [250, 200])
    whole = replace(policy_spec("priced"), planner="whole")
    answered = []
    for blocking in (0.0, 1.0):
        spec = with_options(whole, {"blocking": blocking, "patience": 1e6})
        record = simulate(setting, spec).record
        ends = zip(record.outcome, load.service, strict=True)
        answered.append(sum(end == Outcome.IN_TIME and who == 0 for end, who in ends))
    assert answered[1] > answered[0]


def test_time_has_a_price_where_no_more_of_a_device_can_be_filled() -> None:
    """Batches are in time on 80 % of it only, and the rest stays empty."""
    services = [service("a", slo_ms=25, max_batch=8)]
    times = np.cumsum(np.random.default_rng(1).exponential(1.2, 1000))
    load = load_of(services, [times.tolist()], duration_ms=2000)
    setting = setting_of(services, load, [6], [0.5], [830], knee_percent=80)
    usual = in_time(run(setting, regroup=1.0))
    assert in_time(run(setting, attainable=0.4, regroup=1.0)) > 1.2 * usual
    assert in_time(run(setting)) > usual
    with pytest.raises(ValueError, match="attainable"):
        run(setting, attainable=0.0)
