"""The executor of the simulator: discrete events on a virtual clock.

Events of one instant come in the order of ``EventKind``, and among equals in the order in which
they were caused; arrivals of one instant in the order of their index.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.interference_model import UNIT_PPM, Interference
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group
from surplus.colocation.truths.truth import Truth

_ARRIVAL = int(EventKind.ARRIVAL)
_CHANGE = int(EventKind.CHANGE)


class _Progress:
    """A group that runs, and how much of it is left."""

    __slots__ = ("group", "left_ns", "moved", "since_ns", "slowdown_ppm", "version")

    def __init__(self, group: Group, left_ns: int) -> None:
        self.group = group
        self.moved = True
        self.left_ns = left_ns
        self.slowdown_ppm = UNIT_PPM
        self.since_ns = group.start_ns
        self.version = 0

    def slow_to(self, slowdown_ppm: int, now_ns: int) -> int:
        """Go on with another slowdown, and return when it ends."""
        self.left_ns -= (now_ns - self.since_ns) * UNIT_PPM // self.slowdown_ppm
        self.since_ns = now_ns
        self.slowdown_ppm = slowdown_ppm
        self.moved = False
        self.version += 1
        return now_ns - (-max(0, self.left_ns) * slowdown_ppm) // UNIT_PPM

    def resize_to(self, group: Group, before_ns: int, after_ns: int, spawn_ns: int) -> None:
        """Go on as another group, whose whole time is another one.

        Threads that are added start first; call ``slow_to`` before and after.
        """
        added_ns = spawn_ns if group.cores > self.group.cores else 0
        self.left_ns = max(0, self.left_ns) * after_ns // before_ns + added_ns
        self.group = group
        self.moved = True


class VirtualExecutor:
    """Simulates partitions.

    Parameters
    ----------
    load : Load
    partitions : sequence of Partition
    truth : Truth
        Time of a group with its device to itself.
    interference : Interference, optional
        What neighbours on the device cost; None where they cost nothing, which is faster.
    cut_ns : int, optional
        Events after it do not happen; None to run until nothing is left to do.
    failures : frozenset of int
        Groups, by index, that fail when they would end.
    changes : sequence of (int, Change)
        When devices and services go and come. What runs on a lost device never ends.
    spawn_ns : int
        What a group loses each time that cores are added to it.
    """

    def __init__(
        self,
        load: Load,
        partitions: Sequence[Partition],
        truth: Truth,
        interference: Interference | None = None,
        cut_ns: int | None = None,
        failures: frozenset[int] = frozenset(),
        changes: Sequence[tuple[int, Change]] = (),
        spawn_ns: int = 0,
    ) -> None:
        self._arrivals = load.queries()
        self._arriving = next(self._arrivals, None)
        self._truth = truth
        self._interference = interference
        self._cut_ns = cut_ns
        self._failures = failures
        self._spawn_ns = spawn_ns
        self._events: list[tuple[int, int, int, int, Group | None]] = []
        self._caused = 0
        self._running: dict[int, _Progress] = {}
        self._changes = [change for _, change in changes]
        self._lost_ns: dict[int, int] = {}
        self.now_ns = 0
        self.prepare(partitions)
        for index, (when_ns, _) in enumerate(changes):
            self._push(when_ns, _CHANGE, index, None)

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Know these partitions from now on; those known before keep their places."""
        self._partitions = partitions
        self._devices = [partition.device for partition in partitions]

    @property
    def next_ns(self) -> int | None:
        """When the first event that is queued comes, arrivals aside; it may turn out void."""
        return self._events[0][0] if self._events else None

    def until(self, when_ns: int) -> Event | None:
        """Advance the clock to the next event that comes by then, for who has other clocks."""
        self._cut_ns = when_ns
        return self.next()

    def next(self) -> Event | None:
        """Advance the clock to the next event."""
        events = self._events
        while True:
            query = self._arriving
            if query is not None and (
                not events or (query.arrival_ns, _ARRIVAL) < (events[0][0], events[0][1])
            ):
                self._arriving = next(self._arrivals, None)
                event = Event(query.arrival_ns, EventKind.ARRIVAL, query)
            elif events and self._cut_ns is not None and events[0][0] > self._cut_ns:
                return None
            elif events:
                time_ns, kind, _, version, group = heappop(events)
                if group is not None and not self._ends(group, version, time_ns):
                    continue
                event = Event(time_ns, EventKind(kind), None, group)
                if kind == _CHANGE:
                    event = self._changed(version, time_ns)
            else:
                return None
            if self._cut_ns is not None and event.time_ns > self._cut_ns:
                return None
            self.now_ns = event.time_ns
            return event

    def start(self, group: Group) -> None:
        """Begin a group now, and slow its neighbours down."""
        duration_ns = self._alone_ns(group)
        if self._interference is None and not group.cores:
            self._push(group.start_ns + duration_ns, self._end_of(group), 0, group)
            return
        self._running[group.partition] = _Progress(group, duration_ns)
        self._rescale(self._devices[group.partition], group.start_ns)

    def resize(self, group: Group) -> None:
        """Go on with other cores; what is left takes its part of the time on those."""
        progress = self._running[group.partition]
        progress.slow_to(progress.slowdown_ppm, self.now_ns)
        before_ns = self._alone_ns(progress.group)
        progress.resize_to(group, before_ns, self._alone_ns(group), self._spawn_ns)
        self._rescale(self._devices[group.partition], self.now_ns)

    def wake(self, when_ns: int) -> None:
        """Queue an alarm."""
        self._push(max(when_ns, self.now_ns), int(EventKind.ALARM), 0, None)

    def _alone_ns(self, group: Group) -> int:
        """Time of a whole group with the rest of its device idle."""
        partition = self._partitions[group.partition]
        return self._truth.group_ns(group, partition.share_of(group.cores))

    def _push(self, time_ns: int, kind: int, version: int, group: Group | None) -> None:
        self._caused += 1
        heappush(self._events, (time_ns, kind, self._caused, version, group))

    def _changed(self, index: int, now_ns: int) -> Event:
        """Forget what runs on a device that is lost."""
        change = self._changes[index]
        if change.kind is ChangeKind.DEVICE_LOST:
            self._lost_ns[change.subject] = now_ns
            gone = [k for k in self._running if self._devices[k] == change.subject]
            for partition in gone:
                del self._running[partition]
        return Event(now_ns, EventKind.CHANGE, change=change)

    def _end_of(self, group: Group) -> int:
        return int(EventKind.FAILED if group.id in self._failures else EventKind.DONE)

    def _ends(self, group: Group, version: int, now_ns: int) -> bool:
        """Whether an end still holds; if so, free the neighbours from the group."""
        if self._lost_ns.get(self._devices[group.partition], -1) >= group.start_ns:
            return False
        if self._interference is None and not group.cores:
            return True
        progress = self._running.get(group.partition)
        if progress is None or progress.group is not group or progress.version != version:
            return False
        del self._running[group.partition]
        self._rescale(self._devices[group.partition], now_ns)
        return True

    def _rescale(self, device: int, now_ns: int) -> None:
        """Let every group of a device go on at the speed that its neighbours leave it."""
        beside = [p for k, p in self._running.items() if self._devices[k] == device]
        slowdowns_ppm: Sequence[int] = [UNIT_PPM] * len(beside)
        if self._interference is not None:
            slowdowns_ppm = self._interference.slowdowns_ppm([own.group for own in beside])
        for progress, slowdown_ppm in zip(beside, slowdowns_ppm, strict=True):
            if slowdown_ppm != progress.slowdown_ppm or progress.moved:
                end_ns = progress.slow_to(slowdown_ppm, now_ns)
                group = progress.group
                self._push(end_ns, self._end_of(group), progress.version, group)
