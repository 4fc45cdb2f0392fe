"""The controller serves any executor: ends may come in any order, and from anywhere."""

from __future__ import annotations

from collections import deque

from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.work import Group
from surplus.colocation.policies.baselines.edf import Edf
from surplus.colocation.policies.baselines.whole import Whole
from surplus.colocation.predictors.serial import Serial
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Setting
from tests.colocation.settings import MS, load_of, service, setting_of

SERVICES = (service("a", slo_ms=10), service("b", slo_ms=5))


class Reversed:
    """Stands for a live executor: takes groups as long as there are any, ends the newest first.

    Arrivals come first; each end comes a millisecond after the event before it.
    """

    def __init__(self, load: Load, failing: frozenset[int] = frozenset()) -> None:
        self._arrivals = deque(load.queries())
        self._running: list[Group] = []
        self._failing = failing
        self._now_ns = 0
        self.alarms: list[int] = []

    def next(self) -> Event | None:
        if self._arrivals:
            query = self._arrivals.popleft()
            self._now_ns = query.arrival_ns
            return Event(self._now_ns, EventKind.ARRIVAL, query)
        if not self._running:
            return None
        group = self._running.pop()
        self._now_ns += MS
        failed = group.id in self._failing
        kind = EventKind.FAILED if failed else EventKind.DONE
        return Event(self._now_ns, kind, None, group)

    def start(self, group: Group) -> None:
        self._running.append(group)

    def wake(self, when_ns: int) -> None:
        self.alarms.append(when_ns)


def served(setting: Setting, executor: Reversed) -> Record:
    demand = setting.demand
    predictor = Serial(demand.services, demand.profiles)
    deployment = Whole().plan(demand)
    record = Record(len(setting.load), timer=lambda: 0)
    dispatcher = Edf(Context(demand.services, demand.devices, predictor))
    Controller(demand.services, deployment, dispatcher, executor, record).run()
    check_run(setting.load, demand.services, deployment, record)
    return record


def test_ends_out_of_order() -> None:
    load = load_of(SERVICES, [[0, 1], [1, 2]])
    setting = setting_of(SERVICES, load, [4, 4], devices=2)
    record = served(setting, Reversed(load))
    # Both devices are taken by the first two; the newest group ends first, and the most urgent
    # query that waits takes its place.
    assert list(record.group_partition) == [0, 1, 1, 1]
    assert list(record.ended_ns) == [6 * MS, 3 * MS, 4 * MS, 5 * MS]
    assert list(record.outcome) == [Outcome.IN_TIME] * 4


def test_a_failure_is_booked_and_frees_the_partition() -> None:
    load = load_of(SERVICES, [[0, 1], []])
    record = served(setting_of(SERVICES, load, [4, 4]), Reversed(load, frozenset({0})))
    assert list(record.outcome) == [Outcome.FAILED, Outcome.IN_TIME]
    assert (record.decisions, record.deciding_ns) == (4, 0)
