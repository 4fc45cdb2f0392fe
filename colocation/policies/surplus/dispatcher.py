"""Starts the batch that is worth most: its queries over what it holds, the urgent ones first.

A batch of a service on a share of a device is a column. What it is worth follows the rule of
apparent tardiness (Vepsalainen and Morton, Management Science 33, 1987): value over work, times
``exp(-slack / (patience x mean time))``; the price of time (``prices.py``) says which columns are
not worth what they hold. With a large patience this is the greedy order of the linear program, with
a small one earliest feasible deadline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from surplus.colocation.frame.change import ChangeKind
from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.surplus.batch_times import BatchTimes
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.choice import Column, ColumnChoice, Hopeless
from surplus.colocation.policies.surplus.fair_share import FairShare
from surplus.colocation.policies.surplus.grouping import Grouping
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.lookahead import Bin, WaitingBatch, better_order
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.params import PricedParams
from surplus.colocation.policies.surplus.rooms import (
    DeviceRoom,
    HeldShare,
    SharePlace,
    Wish,
    rooms_of,
)
from surplus.colocation.policies.surplus.savings import Savings
from surplus.colocation.policies.surplus.standing import good_work, patience_of

_HORIZON_TARGETS = 2
_FULL_PERCENT = 100


@DISPATCHERS.register("priced")
class Priced:
    """Columns, prices and urgency; works with any deployment.

    Parameters
    ----------
    **options
        Of ``PricedParams``.

    Raises
    ------
    ValueError
        If an option is out of range, or a weight is of no service.
    """

    def __init__(self, context: Context, **options: Any) -> None:
        self._params = params = PricedParams(**options)
        services = context.services
        unknown = set(params.weights) - {service.name for service in services}
        if unknown:
            raise ValueError(f"weights: unknown service {min(unknown)!r}")
        self._services = services
        self._predicted_ns = context.predictor.alone_ns
        values = [params.weights.get(service.name, 1.0) for service in services]
        self._times = BatchTimes(context.predictor)
        self._ratios = TimeRatios(len(services), params.sure)
        horizon_ns = _HORIZON_TARGETS * max(service.slo_ns for service in services)
        self._market = Market(values, horizon_ns)
        self._savings = Savings()
        self._grouping = Grouping(self._ratios, self._market, self._savings)
        self._fair = FairShare(len(services), params.guarantee)
        parts = (self._times, self._ratios, self._market, self._fair)
        self._choice = ColumnChoice(params, values, *parts)
        self._rooms: dict[int, DeviceRoom] = {}
        self._deployment: Deployment | None = None
        self._seen: Event | None = None
        self._wakes: dict[int, int] = {}

    @property
    def market(self) -> Market:
        """Rates, works and the price of now."""
        return self._market

    def decide(self, state: State, event: Event) -> Decision:
        """Start or drop on the first device that has room for something, the emptiest first."""
        if state.deployment is not self._deployment:
            self._adopt(state)
        if event is not self._seen:
            self._seen = event
            self._note(state, event)
        for room in self._concerned(state, event):
            decision = self._on(state, room, event)
            if decision is not None:
                return decision
        wakes_ns = [when_ns for when_ns in self._wakes.values() if when_ns > state.now_ns]
        return Decision(wake_ns=min(wakes_ns)) if wakes_ns else NOTHING

    def _concerned(self, state: State, event: Event) -> Iterable[DeviceRoom]:
        """Devices on which an event may let something start, the emptiest first.

        Where nothing could start at the last event nothing can now, unless something ended there.
        """
        rooms = self._rooms
        if event.group is not None:
            device = state.deployment.partitions[event.group.partition].device
            return (rooms[device],) if device in rooms else ()
        if len(rooms) == 1:
            return rooms.values()
        return sorted(rooms.values(), key=lambda room: -room.free_percent)

    def _on(self, state: State, room: DeviceRoom, event: Event) -> Decision | None:
        """What to do on a device, if there is anything."""
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
                return Decision(drops=(Drop(found.query, found.end_ns),))
            if isinstance(found, Wish):
                wishes = [*wishes, found]
            elif not self._waits(waiting, room, found, state.now_ns):
                columns.append(found)
        room.wishes = wishes
        best = self._best(columns, wishes, room, state.now_ns)
        return None if best is None else self._start(state, room, best, columns)

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

    def _start(
        self, state: State, room: DeviceRoom, best: Column, columns: list[Column]
    ) -> Decision:
        """Start a column, and beside it what saves time in one group with it."""
        undivided = room.least_percent == _FULL_PERCENT and self._params.groups
        group = self._grouping.around(best, columns, state.now_ns) if undivided else [best]
        drops: list[Query] = []
        pieces = []
        for own in group:
            queries = state.waiting[own.service].first(own.skipped + own.size)
            drops += queries[: own.skipped]
            pieces.append(
                piece_of(queries[own.skipped :], 0, self._services[own.service].operators)
            )
        took_ns = self._grouping.group_ns(group)
        end_ns = state.now_ns + took_ns
        room.running[best.partition] = HeldShare(best.task.share_percent, end_ns, best.service)
        self._choice.started(took_ns)
        return Decision(
            starts=(Start(best.partition, tuple(pieces), took_ns),),
            drops=tuple(Drop(query, end_ns) for query in drops),
        )

    def _adopt(self, state: State) -> None:
        self._deployment = state.deployment
        self._rooms = rooms_of(state)
        self._seen_places()

    def _seen_places(self) -> None:
        """What a query holds and how long it can wait, where it may run now."""
        patiences = []
        for index, service in enumerate(self._services):
            places = self._places(index)
            if places:
                items = max(1, round(self._market.items[index]))
                self._market.works[index] = good_work(self._times, index, service, items, places)
                patiences.append(patience_of(self._times, index, service, items, places))
        static = [room.partitions for room in self._rooms.values() if not room.on_demand]
        self._choice.adopt(Blocking(patiences, sum(static) or len(self._rooms)))

    def _places(self, service: int) -> list[SharePlace]:
        """On the first device that has any: devices are alike."""
        found = (room.places.get(service) for room in self._rooms.values())
        return next((places for places in found if places), [])

    def _note(self, state: State, event: Event) -> None:
        """Learn from what came, ended or changed."""
        if event.query is not None:
            if self._market.arrived(event.query):
                self._seen_places()
            self._fair.arrived(event.query.service)
        elif event.group is not None:
            self._ended(state, event.group, event)
        elif event.change is not None and event.change.kind is ChangeKind.DEVICE_LOST:
            self._rooms = rooms_of(state)
        if self._params.priced:
            self._market.look(event.time_ns, state.waiting, len(self._rooms))

    def _ended(self, state: State, group: Group, event: Event) -> None:
        if state.running[group.partition] is not None:
            return
        for room in self._rooms.values():
            room.running.pop(group.partition, None)
        if event.kind is EventKind.DONE:
            share = state.deployment.partitions[group.partition].share_percent
            self._learn(group, share, event.time_ns)

    def _learn(self, group: Group, share: int, now_ns: int) -> None:
        """From whole batches; parts of models were started by somebody else."""
        pieces = group.pieces
        for piece in pieces:
            if piece.start or piece.end != self._services[piece.service].operators:
                return
            in_time = sum(query.deadline_ns >= now_ns for query in piece.queries)
            self._fair.served(piece.service, in_time)
        alone_ns = [self._predicted_ns(p.service, p.items, p.sequence, share) for p in pieces]
        took_ns = now_ns - group.start_ns
        if len(pieces) == 1:
            self._ratios.took(pieces[0].service, alone_ns[0], took_ns)
        else:
            means = (self._ratios.mean[piece.service] for piece in pieces)
            expected = sum(a * mean for a, mean in zip(alone_ns, means, strict=True))
            services = tuple(sorted(piece.service for piece in pieces))
            self._savings.took(services, took_ns / max(1.0, expected))


def _in_the_way(column: Column, wish: WaitingBatch, room: DeviceRoom, now_ns: int) -> bool:
    """Whether a column would still hold what somebody needs at the latest time for him."""
    latest_ns = wish.deadline_ns - wish.took_ns
    if now_ns + column.task.took_ns <= latest_ns:
        return False
    held = room.held_after(latest_ns) + column.task.share_percent
    return held + wish.share_percent > _FULL_PERCENT
