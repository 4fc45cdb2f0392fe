"""The executor of a live run: real groups on a real clock, behind the same controller.

Events come in the order of ``EventKind`` as far as they are known at one look: ends before
arrivals, alarms last. Their time is read once, when they are handed out, so that it never goes
back; a query's latency counts from when it was due to come, however late that was noticed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from surplus.colocation.frame.clock import Clock
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.pressed import Pressed
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group

_log = logging.getLogger(__name__)


class Ended(NamedTuple):
    """A group that is done; ``error`` says why it failed, empty if it did not."""

    group: Group
    error: str = ""


class Backend(Protocol):
    """What computes groups. One thread calls it."""

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Know these partitions from now on, as ``ElasticExecutor.prepare``."""
        ...

    def start(self, group: Group) -> None:
        """Begin a group and return at once."""
        ...

    def wait(self, timeout_ns: int | None) -> list[Ended]:
        """Return what ended since the last call, waiting for the first end or until the timeout.

        Parameters
        ----------
        timeout_ns : int, optional
            0 does not wait, None waits for as long as it takes. With one it may return early.
        """
        ...


class LiveExecutor:
    """Replays arrivals in real time, and runs groups on a backend.

    Parameters
    ----------
    backend : Backend
    clock : Clock
        Its zero is that of the arrivals.
    arrivals : iterable of Query
        In order of arrival.
    partitions : sequence of Partition
    cut_ns : int, optional
        Events after it do not happen; None to run until nothing is left to do.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        arrivals: Iterable[Query],
        partitions: Sequence[Partition],
        cut_ns: int | None = None,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._arrivals = iter(arrivals)
        self._arriving = next(self._arrivals, None)
        self._cut_ns = cut_ns
        self._alarms: list[int] = []
        self._ended: list[Ended] = []
        self._running = 0
        self.prepare(partitions)

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Let the backend know of partitions."""
        self._backend.prepare(partitions)

    def start(self, group: Group) -> None:
        """Begin a group."""
        self._running += 1
        self._backend.start(group)

    def pressure(self) -> float | None:
        """As the backend reads it; None where it cannot."""
        return self._backend.pressure() if isinstance(self._backend, Pressed) else None

    def wake(self, when_ns: int) -> None:
        """Queue an alarm."""
        heappush(self._alarms, when_ns)

    def next(self) -> Event | None:
        """Wait for the next event."""
        self._look(0)
        while True:
            event = self._due(self._clock.now_ns())
            if event is not None:
                return None if self._is_cut(event.time_ns) else event
            idle = self._arriving is None and not self._alarms and not self._running
            if idle or self._is_cut(self._clock.now_ns()):
                return None
            due_ns = self._next_due_ns()
            self._look(None if due_ns is None else max(0, due_ns - self._clock.now_ns()))

    def settle(self) -> None:
        """Wait until no group runs any more; call it after the last event."""
        while self._running:
            self._running -= len(self._backend.wait(None))

    def _look(self, timeout_ns: int | None) -> None:
        if self._ended:
            return
        if self._running:
            self._ended += self._backend.wait(timeout_ns)
        elif timeout_ns:
            self._backend.wait(timeout_ns)

    def _due(self, now_ns: int) -> Event | None:
        if self._ended:
            return self._end(self._ended.pop(0), now_ns)
        query = self._arriving
        if query is not None and query.arrival_ns <= now_ns:
            self._arriving = next(self._arrivals, None)
            return Event(now_ns, EventKind.ARRIVAL, query)
        if self._alarms and self._alarms[0] <= now_ns:
            heappop(self._alarms)
            return Event(now_ns, EventKind.ALARM)
        return None

    def _end(self, ended: Ended, now_ns: int) -> Event:
        self._running -= 1
        if not ended.error:
            return Event(now_ns, EventKind.DONE, None, ended.group)
        _log.warning("group %d failed: %s", ended.group.id, ended.error)
        return Event(now_ns, EventKind.FAILED, None, ended.group)

    def _next_due_ns(self) -> int | None:
        """When something happens that is known now; None if only ends can come."""
        times_ns = self._alarms[:1]
        if self._arriving is not None:
            times_ns.append(self._arriving.arrival_ns)
        if self._cut_ns is not None:
            times_ns.append(self._cut_ns + 1)
        return min(times_ns, default=None)

    def _is_cut(self, now_ns: int) -> bool:
        return self._cut_ns is not None and now_ns > self._cut_ns
