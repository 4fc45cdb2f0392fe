"""The executor of a server: groups on the core, driven by an event loop.

All is done in the loop's thread: an arrival, an end and an alarm are each handled when the loop
gets to them, so that the controller needs no lock and no thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group
from surplus.colocation.live.executor import Ended
from surplus.engine.scheduling.backend import EngineBackend

Handle = Callable[[Event], None]
Clock = Callable[[], int]

_NS_PER_S = 1e9


class LoopExecutor:
    """A ``surplus.colocation.frame.executor.ElasticExecutor`` whose events go to a callback.

    Parameters
    ----------
    backend : EngineBackend
    handle : callable
        The controller's; never called from within a call of this object.
    loop : asyncio.AbstractEventLoop
    now_ns : callable
        Monotonic.
    """

    def __init__(
        self,
        backend: EngineBackend,
        handle: Handle,
        loop: asyncio.AbstractEventLoop,
        now_ns: Clock = time.monotonic_ns,
    ) -> None:
        self._backend = backend
        self._handle = handle
        self._loop = loop
        self._now_ns = now_ns
        self.last_error = ""
        loop.add_reader(backend.completions.fd, self._pump)

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Let the backend know of partitions."""
        self._backend.prepare(partitions)

    def next(self) -> Event | None:
        """Nobody asks: events are handed to the callback."""
        return None

    def start(self, group: Group) -> None:
        """Begin a group; if it has ended already, its end is handled after the present event."""
        self._backend.start(group)
        if self._backend.has_ended:
            self._loop.call_soon(self._pump)

    def pressure(self) -> float | None:
        """As the backend reads it."""
        return self._backend.pressure()

    def wake(self, when_ns: int) -> None:
        """Have an alarm handled then."""
        delay_s = max(0, when_ns - self._now_ns()) / _NS_PER_S
        self._loop.call_later(delay_s, self._alarm, when_ns)

    def close(self) -> None:
        """Listen no more."""
        self._loop.remove_reader(self._backend.completions.fd)

    def _alarm(self, when_ns: int) -> None:
        # A loop's timers are coarse, and may be early.
        self._handle(Event(max(when_ns, self._now_ns()), EventKind.ALARM))

    def _pump(self) -> None:
        for ended in self._backend.ends():
            self._end(ended)

    def _end(self, ended: Ended) -> None:
        self.last_error = ended.error
        kind = EventKind.FAILED if ended.error else EventKind.DONE
        self._handle(Event(self._now_ns(), kind, None, ended.group))
