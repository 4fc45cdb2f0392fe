"""Which batch starts next, weighed in Python: what the native choice is held against.

A device is asked for the best column of each service that waits; the best of those starts, unless
another one has to go first to be in time. A change here is a change of ``colocation/core``, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from surplus.colocation.frame.event import Event
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.choice import Column, ColumnChoice, Hopeless
from surplus.colocation.policies.surplus.lookahead import Bin, WaitingBatch, better_order
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.rooms import DeviceRoom, HeldShare, SharePlace, Wish
from surplus.colocation.policies.surplus.start_choice import Starting

_FULL_PERCENT = 100


class WeighedStarts:
    """The rule.

    Parameters
    ----------
    params : PricedParams
    choice : ColumnChoice
        Weighs the columns of a service; sees what is learnt and priced.
    """

    def __init__(self, params: PricedParams, choice: ColumnChoice) -> None:
        self._params = params
        self._choice = choice
        self._rooms: Mapping[int, DeviceRoom] = {}
        self._wakes: dict[int, int] = {}

    def next(self, state: State, event: Event) -> Starting | Hopeless | None:
        """See ``StartChoice``."""
        for device in self._concerned(state, event):
            found = self._on(state, device, event)
            if found is not None:
                return found
        return None

    def wake_ns(self, now_ns: int) -> int | None:
        """See ``StartChoice``."""
        return min((when_ns for when_ns in self._wakes.values() if when_ns > now_ns), default=None)

    def moved(self, rooms: Mapping[int, DeviceRoom]) -> None:
        """See ``StartChoice``."""
        self._rooms = rooms

    def adopt(self, blocking: Blocking) -> None:
        """See ``StartChoice``."""
        self._choice.adopt(blocking)

    def expects(self, service: int, items: int, places: Sequence[SharePlace]) -> None:
        """Times are looked up when they are needed."""

    def started(self, device: int, partition: int, held: HeldShare, took_ns: int) -> None:
        """Learn how long batches are."""
        self._choice.started(took_ns)

    def ended(self, partition: int) -> None:
        """Rooms are read where they are."""

    def learnt(self, service: int) -> None:
        """Ratios are read where they are."""

    def priced(self) -> None:
        """Prices are read where they are."""

    def departed(self, service: int) -> None:
        """What is given up is read where it is."""

    def valued(self, service: int) -> None:
        """Values are read where they are."""

    def _concerned(self, state: State, event: Event) -> Iterable[int]:
        """Devices on which an event may let something start, the emptiest first."""
        rooms = self._rooms
        if event.group is not None:
            device = state.deployment.partitions[event.group.partition].device
            return (device,) if device in rooms else ()
        if len(rooms) == 1:
            return rooms
        return sorted(rooms, key=lambda device: -rooms[device].free_percent)

    def _on(self, state: State, device: int, event: Event) -> Starting | Hopeless | None:
        """What to do on a device, if there is anything."""
        room = self._rooms[device]
        free_percent = room.free_percent
        if free_percent < room.least_percent:
            return None
        came = event.query
        wishes = [] if came is None else [w for w in room.wishes if w.service != came.service]
        columns: list[Column] = []
        for service in room.places if came is None else (came.service,):
            waiting = state.waiting[service]
            if not waiting or service not in room.places:
                continue
            found = self._choice.of_service(service, waiting, room, free_percent, state.now_ns)
            if isinstance(found, Hopeless):
                return found
            if isinstance(found, Wish):
                wishes = [*wishes, found]
            elif not self._waits(waiting, room, found, state.now_ns):
                columns.append(found)
        room.wishes = wishes
        best = self._best(columns, wishes, room, state.now_ns)
        return None if best is None else Starting(device, best, columns)

    def _best(
        self, columns: list[Column], wishes: list[Wish], room: DeviceRoom, now_ns: int
    ) -> Column | None:
        """The column of the best score, unless another one has to go first to be in time."""
        if not room.on_demand:
            wishes = []
        for wish in wishes if self._params.reserve else ():
            columns = [
                own
                for own in columns
                if own.score >= wish.score or not _in_the_way(own, wish.task, room, now_ns)
            ]
        if not columns:
            return None
        best = max(columns)
        if not self._params.look_ahead:
            return best
        if not room.on_demand:
            columns = [column for column in columns if column.partition == best.partition]
        rivals: list[Column | Wish] = [own for own in columns if own is not best]
        rivals += wishes
        end_ns = now_ns + best.task.took_ns + sum(own.task.took_ns for own in rivals)
        if all(own.task.deadline_ns >= end_ns for own in rivals):
            return best
        bins = self._bins(room, best)
        tasks = [own.task for own in rivals]
        first = better_order(best.task, tasks, bins, now_ns)
        if first is best.task:
            return best
        urgent = next(own for own in rivals if own.task is first)
        if isinstance(urgent, Column):
            return urgent
        columns = [own for own in columns if not _in_the_way(own, urgent.task, room, now_ns)]
        return max(columns, default=None)

    def _bins(self, room: DeviceRoom, best: Column) -> list[Bin]:
        """All devices, as far as shares say what is free; else the partition in question."""
        if not room.on_demand:
            return [Bin(best.task.share_percent, ())]
        return [
            Bin(own.free_percent, [(run.end_ns, run.share_percent) for run in own.running.values()])
            for own in self._rooms.values()
        ]

    def _waits(self, waiting: Waiting, room: DeviceRoom, column: Column, now_ns: int) -> bool:
        """Whether a batch that is not full waits for more queries."""
        self._wakes.pop(column.service, None)
        if column.size < len(waiting) or column.size >= column.full:
            return False
        if not self._params.together:
            end_ns = room.next_end_ns(column.service)
            task = column.task
            if end_ns is not None and max(end_ns, now_ns) + task.took_ns <= task.deadline_ns:
                return True
        until_ns = self._choice.wait_until(waiting, column, now_ns)
        if until_ns is None:
            until_ns = self._choice.too_dear_until(column, now_ns)
        if until_ns is not None:
            self._wakes[column.service] = until_ns
        return until_ns is not None


def _in_the_way(column: Column, wish: WaitingBatch, room: DeviceRoom, now_ns: int) -> bool:
    """Whether a column would still hold what somebody needs at the latest time for him."""
    latest_ns = wish.deadline_ns - wish.took_ns
    if now_ns + column.task.took_ns <= latest_ns:
        return False
    held = room.held_after(latest_ns) + column.task.share_percent
    return held + wish.share_percent > _FULL_PERCENT
