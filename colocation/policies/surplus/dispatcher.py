"""Starts the batch that is worth most: its queries over what it holds, the urgent ones first.

A batch of a service on a share of a device is a column. What it is worth follows the rule of
apparent tardiness (Vepsalainen and Morton, Management Science 33, 1987): value over work, times
``exp(-slack / (patience x mean time))``; the price of time (``prices.py``) says which columns are
not worth what they hold. With a large patience this is the greedy order of the linear program, with
a small one earliest feasible deadline.

Which batch starts is the core's choice (``native_starts.py``), in microseconds; what is learnt, the
prices, and the groups on whole devices are decided here.
"""

from __future__ import annotations

from typing import Any

from surplus.colocation.files.options import checked_options
from surplus.colocation.frame.change import ChangeKind
from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.surplus.batch_times import BatchTimes
from surplus.colocation.policies.surplus.blocking import Blocking
from surplus.colocation.policies.surplus.choice import ColumnChoice
from surplus.colocation.policies.surplus.fair_share import FairShare
from surplus.colocation.policies.surplus.grouping import Grouping
from surplus.colocation.policies.surplus.learnt import TimeRatios
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.native_starts import NativeStarts
from surplus.colocation.policies.surplus.params import PricedParams, check_weights
from surplus.colocation.policies.surplus.rooms import (
    DeviceRoom,
    HeldShare,
    SharePlace,
    rooms_of,
)
from surplus.colocation.policies.surplus.savings import Savings
from surplus.colocation.policies.surplus.standing import good_work, patience_of
from surplus.colocation.policies.surplus.start_choice import StartChoice, Starting
from surplus.colocation.policies.surplus.weighed_starts import WeighedStarts

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
        If an option is of a wrong type or out of range, or a weight is of no service.
    """

    def __init__(self, context: Context, **options: Any) -> None:
        self._params = params = PricedParams(**checked_options(PricedParams, options))
        services = context.services
        check_weights(params.weights, services)
        self._services = services
        self._predicted_ns = context.predictor.alone_ns
        values = [params.weights.get(service.name, 1.0) for service in services]
        self._times = BatchTimes(context.predictor)
        self._ratios = TimeRatios(len(services), params.sure)
        horizon_ns = _HORIZON_TARGETS * max(service.slo_ns for service in services)
        self._market = Market(values, horizon_ns, params.attainable)
        self._savings = Savings()
        self._grouping = Grouping(self._ratios, self._market, self._savings)
        self._fair = FairShare(values, params.guarantee)
        learnt = (self._ratios, self._market)
        self._starts: StartChoice = (
            NativeStarts(params, context.predictor, *learnt)
            if params.native
            else WeighedStarts(params, ColumnChoice(params, values, self._times, *learnt))
        )
        self._rooms: dict[int, DeviceRoom] = {}
        self._deployment: Deployment | None = None
        self._seen: Event | None = None

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
        found = self._starts.next(state, event)
        if isinstance(found, Starting):
            return self._start(state, found)
        if found is not None:
            self._given_up(found.query.service, 1)
            return Decision(drops=(Drop(found.query, found.end_ns),))
        wake_ns = self._starts.wake_ns(state.now_ns)
        return NOTHING if wake_ns is None else Decision(wake_ns=wake_ns)

    def _start(self, state: State, found: Starting) -> Decision:
        """Start a column, and beside it what saves time in one group with it."""
        device, best, columns = found
        room = self._rooms[device]
        undivided = room.least_percent == _FULL_PERCENT and self._params.groups
        group = self._grouping.around(best, columns, state.now_ns) if undivided else [best]
        drops: list[Query] = []
        pieces = []
        for own in group:
            queries = state.waiting[own.service].first(own.skipped + own.size)
            drops += queries[: own.skipped]
            self._given_up(own.service, own.skipped)
            pieces.append(
                piece_of(queries[own.skipped :], 0, self._services[own.service].operators)
            )
        took_ns = self._grouping.group_ns(group)
        end_ns = state.now_ns + took_ns
        held = HeldShare(best.task.share_percent, end_ns, best.service)
        room.running[best.partition] = held
        self._starts.started(device, best.partition, held, took_ns)
        return Decision(
            starts=(Start(best.partition, tuple(pieces), took_ns),),
            drops=tuple(Drop(query, end_ns) for query in drops),
        )

    def _adopt(self, state: State) -> None:
        self._deployment = state.deployment
        self._move(state)
        self._seen_places()

    def _move(self, state: State) -> None:
        self._rooms = rooms_of(state)
        self._starts.moved(self._rooms)

    def _seen_places(self) -> None:
        """What a query holds and how long it can wait, where it may run now."""
        patiences = []
        for index, service in enumerate(self._services):
            places = self._places(index)
            if places:
                items = max(1, round(self._market.items[index]))
                self._market.works[index] = good_work(self._times, index, service, items, places)
                patiences.append(patience_of(self._times, index, service, items, places))
                self._starts.expects(index, items, places)
        static = [room.partitions for room in self._rooms.values() if not room.on_demand]
        self._starts.adopt(Blocking(patiences, sum(static) or len(self._rooms)))

    def _places(self, service: int) -> list[SharePlace]:
        """On the first device that has any: devices are alike."""
        found = (room.places.get(service) for room in self._rooms.values())
        return next((places for places in found if places), [])

    def _note(self, state: State, event: Event) -> None:
        """Learn from what came, ended or changed."""
        if event.query is not None:
            if self._market.arrived(event.query):
                self._seen_places()
            self._note_refused(state, event.query)
        elif event.group is not None:
            self._ended(state, event.group, event)
        elif event.change is not None and event.change.kind is ChangeKind.DEVICE_LOST:
            self._move(state)
        if self._params.priced and self._market.look(
            event.time_ns, state.waiting, len(self._rooms)
        ):
            self._starts.priced()

    def _note_refused(self, state: State, query: Query) -> None:
        """Who comes to a full queue is refused before anybody is asked."""
        bounded = self._services[query.service].max_queue is not None
        if bounded and self._params.guarantee and query not in state.waiting[query.service]:
            self._given_up(query.service, 1)

    def _ended(self, state: State, group: Group, event: Event) -> None:
        if state.running[group.partition] is not None:
            return
        room = self._rooms.get(state.deployment.partitions[group.partition].device)
        if room is not None:
            room.running.pop(group.partition, None)
        self._starts.ended(group.partition)
        if event.kind is EventKind.DONE:
            for piece in group.pieces:
                in_time = sum(query.deadline_ns >= event.time_ns for query in piece.queries)
                late = len(piece.queries) - in_time
                self._departed(piece.service, in_time, late, given_up=False)
            share = state.deployment.partitions[group.partition].share_percent
            self._learn(group, share, event.time_ns)

    def _given_up(self, service: int, count: int) -> None:
        self._departed(service, 0, count, given_up=True)

    def _departed(self, service: int, in_time: int, others: int, *, given_up: bool) -> None:
        if self._market.departed(service, in_time + others, given_up=given_up):
            self._starts.departed(service)
        if self._fair.departed(service, in_time, others):
            self._starts.valued(service)

    def _learn(self, group: Group, share: int, now_ns: int) -> None:
        """From whole batches; parts of models were started by somebody else."""
        pieces = group.pieces
        for piece in pieces:
            if piece.start or piece.end != self._services[piece.service].operators:
                return
        alone_ns = [self._predicted_ns(p.service, p.items, p.sequence, share) for p in pieces]
        took_ns = now_ns - group.start_ns
        if len(pieces) == 1:
            self._ratios.took(pieces[0].service, alone_ns[0], took_ns)
            self._starts.learnt(pieces[0].service)
        else:
            means = (self._ratios.mean[piece.service] for piece in pieces)
            expected = sum(a * mean for a, mean in zip(alone_ns, means, strict=True))
            services = tuple(sorted(piece.service for piece in pieces))
            self._savings.took(services, took_ns / max(1.0, expected))
