from __future__ import annotations

import numpy as np
import pytest

from surplus.colocation import policy_spec, simulate, summarise
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.planner import PLANNERS
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Partition, Service
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from surplus.loadgen.arrivals import poisson
from tests.colocation.settings import MS, load_of, service, setting_of


def run(setting: Setting, policy: str = "fcfs") -> Run:
    done = simulate(setting, policy_spec(policy))
    check_run(setting.load, setting.demand.services, done.deployment, done.record)
    return done


def poisson_load(services: list[Service], rate_per_s: float, count: int, seed: int) -> Load:
    draws = poisson(rate_per_s, np.random.default_rng(seed))
    arrival_ns = np.array([next(draws) for _ in range(count)], np.int64)
    ones = np.ones(count, np.int64)
    duration_ns = int(arrival_ns[-1]) + 1
    return merge([Stream(arrival_ns, ones, ones * 0)], [s.slo_ns for s in services], duration_ns)


def mean_wait_ms(setting: Setting, done: Run) -> float:
    ended = np.frombuffer(done.record.ended_ns, np.int64)
    service_ns = np.frombuffer(done.record.group_end_ns, np.int64) - np.frombuffer(
        done.record.group_start_ns, np.int64
    )
    return float((ended - setting.load.arrival_ns).mean() - service_ns.mean()) / MS


def test_three_queries_by_hand() -> None:
    services = [service("a", slo_ms=10), service("b", slo_ms=5)]
    load = load_of(services, [[0, 1], [1]])
    setting = setting_of(services, load, fixed_ms=[4, 2])
    done = run(setting)
    assert list(done.record.ended_ns) == [4 * MS, 8 * MS, 10 * MS]
    assert [Outcome(o) for o in done.record.outcome] == [
        Outcome.IN_TIME,
        Outcome.IN_TIME,
        Outcome.LATE,
    ]


def test_drops_tell_the_predicted_miss() -> None:
    services = [service("a", slo_ms=5)]
    load = load_of(services, [[0, 0, 0]])
    done = run(setting_of(services, load, fixed_ms=[4]), "fcfs_drop")
    assert [Outcome(o).name for o in done.record.outcome] == ["IN_TIME", "DROPPED", "DROPPED"]
    assert list(done.record.predicted_end_ns) == [-1, 8 * MS, 8 * MS]


def test_an_end_comes_before_an_arrival_of_the_same_instant() -> None:
    services = [service("a", slo_ms=4, max_queue=0)]
    load = load_of(services, [[0, 4, 6]])
    done = run(setting_of(services, load, fixed_ms=[4]))
    # With no room to queue, only those are served that find the device free.
    assert set(done.record.outcome) == {Outcome.REJECTED}
    services = [service("a", slo_ms=4, max_queue=1)]
    done = run(setting_of(services, load_of(services, [[0, 4, 8]]), fixed_ms=[4]))
    assert list(done.record.group_start_ns) == [0, 4 * MS, 8 * MS]
    assert set(done.record.outcome) == {Outcome.IN_TIME}


def test_arrivals_of_one_instant_come_in_order_of_their_services() -> None:
    services = [service("b"), service("a")]
    done = run(setting_of(services, load_of(services, [[0, 0], [0]]), fixed_ms=[1, 1]))
    assert list(done.record.piece_service) == [0, 0, 1]


@pytest.mark.parametrize(("noise", "factor"), [("none", 0.5), ("exponential", 1.0)])
def test_waits_agree_with_queueing_theory(noise: str, factor: float) -> None:
    """Mean waits of M/D/1 and M/M/1: rho s / (1 - rho), halved for D (Pollaczek-Khinchine)."""
    services = [service("a", slo_ms=1e6)]
    load = poisson_load(services, rate_per_s=70, count=25_000, seed=3)
    setting = setting_of(services, load, fixed_ms=[10], noise=noise)
    expected_ms = factor * 0.7 * 10 / 0.3
    assert mean_wait_ms(setting, run(setting)) == pytest.approx(expected_ms, rel=0.08)


def test_two_devices_share_a_queue() -> None:
    services = [service("a")]
    setting = setting_of(services, load_of(services, [[0, 0, 0]]), fixed_ms=[4], devices=2)
    done = run(setting)
    assert list(done.record.group_partition) == [0, 1, 0]
    assert list(done.record.ended_ns) == [4 * MS, 4 * MS, 8 * MS]


def test_same_draws_whatever_the_policy_and_the_neighbours() -> None:
    alone = [service("a", slo_ms=1e6)]
    pair = [service("z", slo_ms=1e6), service("a", slo_ms=1e6)]
    times = [float(t) for t in range(0, 900, 10)]

    def took(services: list[Service], arrivals: list[list[float]]) -> list[int]:
        load = load_of(services, arrivals)
        fixed_ms = [3.0] * len(services)
        record = run(setting_of(services, load, fixed_ms, noise="exponential")).record
        own = len(services) - 1
        rows = sorted(
            (record.piece_query[k], record.group_end_ns[g] - record.group_start_ns[g])
            for k, g in enumerate(record.piece_group)
            if record.piece_service[k] == own
        )
        return [duration for _, duration in rows]

    assert took(alone, [times]) == took(pair, [[1.0, 500.0], times])


def test_another_seed_is_another_run() -> None:
    services = [service("a")]
    load = load_of(services, [[0, 1, 2]])
    ends = {
        tuple(run(setting_of(services, load, [3], noise="exponential", seed=s)).record.ended_ns)
        for s in (1, 2, 1)
    }
    assert len(ends) == 2


@PLANNERS.register("halves_for_a_test")
class Halves:
    """A partition of half a device for each of two services."""

    def plan(self, demand):  # type: ignore[no-untyped-def]
        from surplus.colocation.frame.deployment import Assignment, Deployment

        return Deployment(
            (Partition(0, 50), Partition(0, 50)), (Assignment(0, 0, 1), Assignment(1, 1, 1))
        )


def test_interference_slows_exactly_while_neighbours_overlap() -> None:
    """0-2 alone, 2-8 at half speed beside b, then alone: 2 + 3 + 5 of 10 ms of work."""
    services = [service("a"), service("b")]
    model = Pairwise(["a", "b"], extra={"a": {"b": 1.0}})
    setting = setting_of(
        services, load_of(services, [[0], [2]]), [10, 6], knee_percent=50, interference=model
    )
    done = simulate(setting, PolicySpec("halves", "fcfs", planner="halves_for_a_test"))
    check_run(setting.load, services, done.deployment, done.record)
    assert list(done.record.ended_ns) == [13 * MS, 8 * MS]
    summary = summarise(done, setting.load, services, 1)
    assert summary.utilisation == pytest.approx((13 + 6) * 0.5 / 1000)


def test_failed_groups_fail_their_queries_and_free_the_partition() -> None:
    services = [service("a")]
    setting = setting_of(services, load_of(services, [[0, 0]]), [4], failures=frozenset({0}))
    done = run(setting)
    assert [Outcome(o).name for o in done.record.outcome] == ["FAILED", "IN_TIME"]


def test_a_cut_run_leaves_queries_unfinished() -> None:
    services = [service("a", slo_ms=1e6)]
    load = load_of(services, [[0, 1, 2]], duration_ms=5)
    done = run(setting_of(services, load, [4], drain_ns=0))
    assert [Outcome(o).name for o in done.record.outcome] == ["IN_TIME", "UNFINISHED", "UNFINISHED"]
    total = summarise(done, load, services, 1).total
    assert (total.offered, total.in_time, total.unfinished) == (3, 1, 2)


def test_answers_in_time_are_never_more_a_second_than_answers() -> None:
    """Two of three come after the arrivals have ended: a second has one, in time or not."""
    services = [service("a", slo_ms=100)]
    load = load_of(services, [[0, 1, 2]], duration_ms=5)
    total = summarise(run(setting_of(services, load, [4])), load, services, 1).total
    assert total.in_time == 3
    assert total.goodput_per_s == total.served_per_s == pytest.approx(200)
