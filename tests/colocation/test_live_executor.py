"""The live executor on a machine that takes exactly as long as the simulator says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

import pytest

from surplus.colocation.frame.clock import VirtualClock
from surplus.colocation.frame.event import EventKind
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.reorganiser import ReorganisationParams
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.live.executor import Ended, LiveExecutor
from surplus.colocation.live.run import serve_live
from surplus.colocation.policies.names import PolicySpec, policy_spec
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Setting, simulate
from tests.colocation.asked_planner import ASKED, ASKED_PLANNER
from tests.colocation.settings import MS, load_of, service, setting_of

SERVICES = (service("a", slo_ms=12, max_batch=4), service("b", slo_ms=30, max_batch=2))


class ExactBackend:
    """Takes for each group what a truth says, on a clock that moves when somebody waits."""

    def __init__(self, setting: Setting, failing: frozenset[int] = frozenset()) -> None:
        self.clock = VirtualClock()
        self._truth = setting.truth
        self._failing = failing
        self._running: list[tuple[int, int, Group]] = []
        self._shares: list[int] = []

    def prepare(self, partitions: Sequence[Partition]) -> None:
        self._shares = [partition.share_percent for partition in partitions]

    def start(self, group: Group) -> None:
        took_ns = self._truth.group_ns(group, self._shares[group.partition])
        heappush(self._running, (self.clock.now_ns() + took_ns, group.id, group))

    def wait(self, timeout_ns: int | None) -> list[Ended]:
        until_ns = None if timeout_ns is None else self.clock.now_ns() + timeout_ns
        first_ns = self._running[0][0] if self._running else None
        known = [time for time in (until_ns, first_ns) if time is not None]
        assert known, "it would wait for ever"
        self.clock.advance_to(max(self.clock.now_ns(), min(known)))
        ended = []
        while self._running and self._running[0][0] <= self.clock.now_ns():
            group = heappop(self._running)[2]
            ended.append(Ended(group, "broken" if group.id in self._failing else ""))
        return ended


def setting(
    drain_ns: int | None = None, failures: frozenset[int] = frozenset(), devices: int = 2
) -> Setting:
    arrivals = [[k * 2.5 for k in range(60)], [k * 7.25 for k in range(20)]]
    load = load_of(SERVICES, arrivals, duration_ms=160)
    return setting_of(
        SERVICES,
        load,
        [3, 8],
        [1, 2],
        devices=devices,
        rates_per_s=[400, 140],
        noise="exponential",
        drain_ns=drain_ns,
        failures=failures,
    )


@pytest.mark.parametrize(
    "policy", ["fcfs", "sjf_drop", "edf_drop", "temporal_drop", "fixed_batch", "clockwork", "nexus"]
)
@pytest.mark.parametrize("failures", [frozenset(), frozenset({0, 3, 11})])
def test_equals_the_simulation(policy: str, failures: frozenset[int]) -> None:
    common = setting(failures=failures)
    backend = ExactBackend(common, failures)
    simulated = simulate(common, policy_spec(policy)).record
    live = serve_live(common, policy_spec(policy), backend, lambda: backend.clock)
    check_run(common.load, SERVICES, live.deployment, live.record)
    assert live.record.outcome == simulated.outcome
    assert live.record.ended_ns == simulated.ended_ns
    assert live.record.group_partition == simulated.group_partition
    if failures:
        assert Outcome.FAILED in live.record.outcome


def test_queries_wait_for_a_planner_that_is_asked_again() -> None:
    ASKED.clear()
    load = load_of(SERVICES, [[0, 500, 2500], [0]], duration_ms=3000)
    common = setting_of(SERVICES, load, [3, 8], [1, 2], rates_per_s=[400, 140])
    common = replace(common, reorganisation=ReorganisationParams(1000 * MS, MS))
    backend = ExactBackend(common)
    spec = PolicySpec("t", "fcfs", planner=ASKED_PLANNER)
    serve_live(common, spec, backend, lambda: backend.clock)
    first, *again = [demand.hurried for demand in ASKED]
    assert not first
    assert again
    assert all(again)


def test_a_run_that_is_cut_leaves_nothing_running() -> None:
    common = setting(drain_ns=0, devices=1)
    backend = ExactBackend(common)
    live = serve_live(common, policy_spec("fcfs"), backend, lambda: backend.clock)
    check_run(common.load, SERVICES, live.deployment, live.record)
    assert Outcome.UNFINISHED in live.record.outcome
    assert not backend._running


def test_a_late_look_shows_ends_before_arrivals_and_alarms_last() -> None:
    common = setting()
    backend = ExactBackend(common)
    queries = [Query(0, 0, 0, 0, 99 * MS), Query(1, 0, 1, 5 * MS, 99 * MS)]
    executor = LiveExecutor(backend, backend.clock, queries, [Partition(0)])
    first = executor.next()
    assert first is not None
    assert first.query is queries[0]
    executor.wake(1 * MS)
    group = Group(0, 0, (piece_of((queries[0],), 0, 1),), 0, 0)
    executor.start(group)
    backend.clock.advance_to(20 * MS)
    seen = [event for event in (executor.next(), executor.next(), executor.next()) if event]
    assert [e.kind for e in seen] == [EventKind.DONE, EventKind.ARRIVAL, EventKind.ALARM]
    assert (seen[0].group, seen[1].query) == (group, queries[1])
    assert {event.time_ns for event in seen} == {20 * MS}
    assert executor.next() is None
