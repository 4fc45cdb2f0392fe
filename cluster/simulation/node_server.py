"""One server of a simulated cluster, from its start to its end, query by query.

It is driven by the controller and dispatchers of co-location, on the virtual clock of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surplus.cluster.simulation.handed_over import HandedOver
from surplus.colocation.frame.controller import Controller
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import Dispatcher
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.interference_model import Interference
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.record import NEVER_NS, Record
from surplus.colocation.frame.service import Service
from surplus.colocation.simulation.virtual_executor import VirtualExecutor
from surplus.colocation.truths.truth import Truth


class LeftServer(NamedTuple):
    """A query that left a server, by its number there."""

    number: int
    outcome: Outcome


@dataclass(frozen=True)
class ServerSetup:
    """What the servers of a cluster have in common.

    Parameters
    ----------
    services : tuple of Service
    dispatcher : callable
        Makes one.
    truth : Truth
    interference : Interference, optional
        Between the partitions of a device.
    work_ns : callable, optional
        How long a query is predicted to take alone, by which servers tell with their answers how
        long a new one would wait; None if they do not.
    """

    services: tuple[Service, ...]
    dispatcher: Callable[[], Dispatcher]
    truth: Truth
    interference: Interference | None = None
    work_ns: Callable[[Query], int] | None = None


class NodeServer:
    """A server.

    Parameters
    ----------
    setup : ServerSetup
    deployment : Deployment
        The one that it starts with.

    Attributes
    ----------
    deployment : Deployment
        All partitions so far, and whom the first one served in which.
    record : Record
    """

    def __init__(self, setup: ServerSetup, deployment: Deployment) -> None:
        self._executor = VirtualExecutor(
            _load([]), deployment.partitions, setup.truth, setup.interference
        )
        self._renewal = HandedOver(self._executor.prepare)
        self.record = _GrowingRecord()
        self._queries: list[Query] = []
        self._predicted_ns = setup.work_ns
        self._work_ns = 0
        self._partitions = _used(deployment)
        self._controller = Controller(
            setup.services,
            deployment,
            setup.dispatcher(),
            self._executor,
            self.record,
            self._renewal,
        )

    @property
    def deployment(self) -> Deployment:
        """As ``Controller.deployment``."""
        return self._controller.deployment

    @property
    def next_ns(self) -> int | None:
        """When it does something next of its own accord."""
        return self._executor.next_ns

    @property
    def wait_ns(self) -> int | None:
        """How long a new query would wait, if partitions share what there is to do."""
        return None if self._predicted_ns is None else self._work_ns // self._partitions

    def admit(self, query: Query, now_ns: int) -> int:
        """Take a query in; return its number here."""
        number = len(self._queries)
        own = query._replace(id=number, arrival_ns=now_ns)
        self._queries.append(own)
        self._work_ns += self._predicted_ns(own) if self._predicted_ns else 0
        self.record.expect_one()
        self._controller.handle(Event(now_ns, EventKind.ARRIVAL, own))
        return number

    def advance(self, now_ns: int) -> None:
        """Do what is due by now."""
        while (event := self._executor.until(now_ns)) is not None:
            self._controller.handle(event)

    def take_over(self, deployment: Deployment, now_ns: int) -> None:
        """Serve by another deployment from now on."""
        self._renewal.pending = deployment
        self._partitions = _used(deployment)
        self._controller.handle(Event(now_ns, EventKind.ALARM))

    def left(self) -> list[LeftServer]:
        """Queries that have ended since it was last asked."""
        left = self.record.left
        self.record.left = []
        if self._predicted_ns is not None:
            self._work_ns -= sum(self._predicted_ns(self._queries[one.number]) for one in left)
        return left

    def load(self) -> Load:
        """All queries that it was given, to judge its record by."""
        return _load(self._queries)


class _GrowingRecord(Record):
    """A record of queries that are not known beforehand; tells which have ended."""

    def __init__(self) -> None:
        super().__init__(0)
        self.left: list[LeftServer] = []

    def expect_one(self) -> None:
        """Make room for the next query."""
        self.outcome.append(Outcome.UNFINISHED)
        self.ended_ns.append(NEVER_NS)
        self.predicted_end_ns.append(NEVER_NS)

    def ended(self, query: Query, outcome: Outcome, when_ns: int) -> None:
        """Book the end of a query."""
        super().ended(query, outcome, when_ns)
        self.left.append(LeftServer(query.id, outcome))


def _used(deployment: Deployment) -> int:
    """Partitions that somebody is served in; 1 where there is none."""
    return max(1, len({assignment.partition for assignment in deployment.assignments}))


def _load(queries: list[Query]) -> Load:
    columns = np.array([query[1:7] for query in queries], np.int64).reshape(-1, 6).T
    service, number, arrival_ns, deadline_ns, items, sequence = columns
    last_ns = int(arrival_ns.max(initial=0))
    return Load(service, number, arrival_ns, deadline_ns, items, sequence, last_ns + 1)
