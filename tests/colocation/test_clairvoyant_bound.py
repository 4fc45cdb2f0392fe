"""The clairvoyant bound: against a linear program, against exhaustive search, against policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from surplus.colocation import policy_names, policy_spec, simulate
from surplus.colocation.clairvoyant.bound import _greedy, clairvoyant_bound
from surplus.colocation.clairvoyant.least_work import in_levels, shortest_window
from surplus.colocation.clairvoyant.most_work import most_work
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Partition, Service, ServingDevice
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.noise import NOISES, Noise
from surplus.colocation.simulation.simulator import Setting
from tests.colocation.settings import MS, load_of, service, setting_of

NONE = NOISES.make("none")
TASKS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 9), st.integers(0, 7)), min_size=1, max_size=6
)
"""Opening, length of the window, work."""


def bound_of(setting: Setting, noise: Noise = NONE, seed: int = 1) -> int:
    return clairvoyant_bound(setting.demand, setting.load, noise, seed).in_time


def program(tasks: list[tuple[int, int, int]], gains: Sequence[float], speed: int) -> float:
    """Best sum of gains times work, as a linear program over tasks and moments of length 1."""
    horizon = max(o + w for o, w, _ in tasks)
    pairs = [(k, t) for k, (o, w, _) in enumerate(tasks) for t in range(o, o + w)]
    rows = np.zeros((len(tasks) + horizon, len(pairs)))
    for column, (k, t) in enumerate(pairs):
        rows[k, column] = rows[len(tasks) + t, column] = 1
    most = [work for _, _, work in tasks] + [speed] * horizon
    found = linprog([-gains[k] for k, _ in pairs], A_ub=rows, b_ub=most)
    return -float(found.fun)


@given(tasks=TASKS, speed=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_earliest_close_first_does_the_most_work(
    tasks: list[tuple[int, int, int]], speed: int
) -> None:
    tasks.sort()
    opens, closes = [o for o, _, _ in tasks], [o + w for o, w, _ in tasks]
    found = most_work(opens, closes, [work for _, _, work in tasks], speed)
    assert found == pytest.approx(program(tasks, [1.0] * len(tasks), speed), abs=1e-6)


@given(tasks=TASKS)
@settings(max_examples=60, deadline=None)
def test_the_greedy_order_is_the_optimum_of_the_program(tasks: list[tuple[int, int, int]]) -> None:
    tasks = sorted((o, w, work + 1) for o, w, work in tasks)
    levels = sorted({work for _, _, work in tasks})

    def rank(least: float) -> int:
        kept = [task for task in tasks if task[2] <= least]
        return most_work([o for o, _, _ in kept], [o + w for o, w, _ in kept], [x[2] for x in kept])

    counts = [sum(work == level for _, _, work in tasks) for level in levels]
    best = program(tasks, [1 / work for _, _, work in tasks], 1)
    assert _greedy(levels, counts, rank) == int(best + 1e-6)


def orders(queries: frozenset[int], most: int) -> Iterator[list[tuple[int, ...]]]:
    """All sequences of batches of some of the queries, in each of which they may be any."""
    yield []
    for size in range(1, most + 1):
        for batch in combinations(sorted(queries), size):
            for rest in orders(queries - set(batch), most):
                yield [batch, *rest]


def best_of_all(load: Load, services: Sequence[Service], fixed: Sequence[int]) -> int:
    """Most queries in time on one device that runs batch by batch, each as early as possible."""
    rows = list(load.queries())
    best = 0
    for order in orders(frozenset(range(len(rows))), max(s.max_batch for s in services)):
        now_ns = in_time = 0
        for batch in order:
            own = [rows[k] for k in batch]
            who = own[0].service
            if any(q.service != who for q in own) or len(own) > services[who].max_batch:
                break
            begun_ns = max(now_ns, *(q.arrival_ns for q in own))
            now_ns = begun_ns + (fixed[who] + len(own)) * MS
            in_time += sum(now_ns <= q.deadline_ns for q in own)
        else:
            best = max(best, in_time)
    return best


@given(
    arrivals=st.tuples(
        st.lists(st.integers(0, 12), max_size=2), st.lists(st.integers(0, 12), max_size=2)
    ),
    fixed=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    slos_ms=st.tuples(st.integers(3, 14), st.integers(3, 14)),
)
@settings(max_examples=80, deadline=None)
def test_no_order_of_any_batches_beats_the_bound(
    arrivals: tuple[list[int], list[int]], fixed: tuple[int, int], slos_ms: tuple[int, int]
) -> None:
    services = [service("a", slos_ms[0], 1), service("b", slos_ms[1], 2)]
    load = load_of(services, [sorted(row) for row in arrivals])
    setting = setting_of(services, load, fixed, [1, 1])
    assert best_of_all(load, services, fixed) <= bound_of(setting)


def test_the_bound_is_reached_where_nothing_is_relaxed() -> None:
    """Back to back queries of one service: each takes 4 ms, every target is kept but the last."""
    services = [service("a", slo_ms=8)]
    load = load_of(services, [[0, 4, 8, 12]])
    assert bound_of(setting_of(services, load, [4])) == 4
    load = load_of(services, [[0, 0, 0, 0]])
    assert bound_of(setting_of(services, load, [4])) == 2
    assert bound_of(setting_of(services, load, [4], devices=2)) == 4


def test_a_query_that_no_share_and_luck_make_fast_enough_is_late() -> None:
    services = [service("a", slo_ms=8), service("b", slo_ms=3)]
    load = load_of(services, [[0, 100], [200]])
    found = clairvoyant_bound(setting_of(services, load, [4, 4]).demand, load, NONE, 1)
    assert (found.in_time, found.offered, found.services) == (2, 3, (2, 0))


def test_the_best_share_of_a_device_counts() -> None:
    """At its knee of 25 %, four queries run side by side."""
    services = [service("a", slo_ms=4)]
    load = load_of(services, [[0] * 5])
    assert bound_of(setting_of(services, load, [4], knee_percent=25)) == 4


def test_a_batch_counts_only_where_its_queries_meet() -> None:
    services = [service("a", slo_ms=8, max_batch=4)]
    together = load_of(services, [[0, 0, 0, 0]])
    apart = load_of(services, [[0, 5, 10, 15]])
    # Four at once may share a batch; apart, each of them has to take its own 6 ms.
    assert bound_of(setting_of(services, together, [4])) == 4
    demand = setting_of(services, apart, [6], rates_per_s=[1]).demand
    assert clairvoyant_bound(demand, apart, NONE, 1).need == pytest.approx((4 * 6 / 1000,))


def test_need_says_how_many_devices_the_load_takes() -> None:
    services = [service("a", slo_ms=50)]
    load = load_of(services, [[k * 2 for k in range(500)]])
    found = clairvoyant_bound(setting_of(services, load, [4]).demand, load, NONE, 1)
    assert found.need == pytest.approx((2.0,))
    assert found.in_time < 300


@pytest.mark.parametrize("policy", policy_names())
@given(
    arrivals=st.tuples(
        st.lists(st.integers(0, 60), max_size=10), st.lists(st.integers(0, 60), max_size=10)
    ),
    noise=st.sampled_from(["none", "exponential"]),
    devices=st.integers(1, 2),
    seed=st.integers(0, 99),
)
@settings(max_examples=12, deadline=None)
def test_no_policy_beats_the_bound(
    policy: str, arrivals: tuple[list[int], list[int]], noise: str, devices: int, seed: int
) -> None:
    services = [service("a", slo_ms=14, max_batch=3), service("b", slo_ms=20, max_batch=1)]
    load = load_of(services, [sorted(row) for row in arrivals])
    setting = setting_of(
        services, load, [4, 7], [1, 2], [20, 10], devices, noise, seed, knee_percent=40
    )
    record = simulate(setting, policy_spec(policy)).record
    in_time = sum(outcome == Outcome.IN_TIME for outcome in record.outcome)
    assert in_time <= bound_of(setting, NOISES.make(noise), seed)


def test_a_model_that_is_cut_has_no_higher_a_bound_for_it() -> None:
    whole = [service("a", slo_ms=20, max_batch=2)]
    cut = [replace(whole[0], operators=4)]
    load = load_of(whole, [[0, 0, 1, 2, 3]])
    found = [bound_of(setting_of(own, load, [8], [1])) for own in (whole, cut)]
    assert found[0] <= found[1]


def test_windows_and_levels_err_on_the_safe_side() -> None:
    arrivals_ns = np.array([0, 10, 14, 30], np.int64)
    items = np.array([1, 2, 1, 4], np.int64)
    found = [shortest_window(arrivals_ns, items, n) for n in (1, 3, 4, 5, 8, 9)]
    assert found == [0, 0, 0, 16, 30, float("inf")]
    works = [5.0, 1.0, 2.0, 3.0, 4.0, float("inf")]
    low = in_levels(works, 2)
    assert low[-1] == float("inf")
    assert len(set(low[:-1])) == 2
    assert all(a <= b for a, b in zip(low, works, strict=True))


@pytest.mark.parametrize("name", NOISES.names())
def test_more_luck_is_never_slower(name: str) -> None:
    """The bound takes the least draw for the least time."""
    noise = NOISES.make(name)
    factors = [noise(draw, 0.2) for draw in np.linspace(0.001, 0.999, 101)]
    assert factors == sorted(factors)


def test_a_core_of_many_costs_less_than_the_percent_that_it_computes_on() -> None:
    """Of 400 cores, four run four queries on 1 % of the device and compute on 4 %."""
    services = [service("a", slo_ms=100)]
    setting = setting_of(services, load_of(services, [[0]]), [1], knee_percent=1)
    many = replace(setting.demand, devices=(ServingDevice("cpu", cores=400),))
    found = clairvoyant_bound(many, setting.load, NONE, 1)
    partition = Partition(0, cores=400)
    took_ns = many.latency_ns(0, 1, partition.share_of(1))
    held_ns = took_ns * partition.held_ppm(1) / 1_000_000
    assert found.need[0] * setting.load.duration_ns == pytest.approx(held_ns, rel=1e-4)


def test_profiles_are_asked_for_every_share() -> None:
    law = Affine(4 * MS, MS, 40)
    costs = [share * law.latency_ns(1, 0, share) for share in range(1, 101)]
    services = [service("a", slo_ms=500)]
    load = load_of(services, [[0]])
    setting = setting_of(services, load, [4], [1], knee_percent=40)
    need = clairvoyant_bound(setting.demand, load, NONE, 1).need[0]
    assert need == pytest.approx(min(costs) / 100 / (1000 * MS), rel=1e-4)
