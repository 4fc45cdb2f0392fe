"""``priced``, behind a door: who comes in has a promise, who cannot be promised is told at once."""

from __future__ import annotations

from math import sqrt
from typing import Any

from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.decision import Decision, Drop, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.rate_monitor import RateMonitor
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group
from surplus.colocation.policies.surplus.backlog import Backlog
from surplus.colocation.policies.surplus.dispatcher import Priced
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.promises import Promises

_FULL_PERCENT = 100
_WEIGHT = 0.1
_MANY = 2
_WINDOW_NS, _WINDOWS = 100 * NS_PER_MS, 9


@DISPATCHERS.register("promised")
class Promised(Priced):
    """Refuses at arrival what it could not promise.

    Parameters
    ----------
    promise : float
        Share of the admitted queries of each service that are answered in time.
    **options
        Of ``PricedParams``; nobody who was admitted is given up for a larger batch, and batches
        end in time with the promised probability unless ``sure`` says another one.
    """

    def __init__(self, context: Context, promise: float = 0.999, **options: Any) -> None:
        super().__init__(context, **{"sure": promise, **options, "skip": False})
        self._promises = Promises(len(context.services), promise)
        none_per_s = [0.0] * len(context.services)
        self._offered, self._admitted = (
            RateMonitor(none_per_s, _WINDOW_NS, _WINDOWS, unbiased=True) for _ in range(2)
        )
        self._alone_ns = [0] * len(context.services)
        self._crowded = Market(self._market.values, self._market.horizon_ns)
        self._met: Event | None = None

    def decide(self, state: State, event: Event) -> Decision:
        """At the door, then as ``priced``."""
        if state.deployment is not self._deployment:
            self._adopt(state)
        if event is not self._met:
            self._met = event
            query = event.query
            if query is not None and query in state.waiting[query.service]:
                self._offered.arrived(query.service, event.time_ns)
                self._crowded.arrived(query)
                refused = self._refused(state, query)
                if refused is not None:
                    self._given_up(query.service, 1)
                    return Decision(drops=(refused,))
                self._admitted.arrived(query.service, event.time_ns)
            elif event.group is not None:
                self._done(event.group, event)
            elif event.change is not None:
                self._promises.forget()
        decision = super().decide(state, event)
        for start in decision.starts:
            self._started(state, start)
        self._promises.given_up((drop.query for drop in decision.drops), state.now_ns)
        return decision

    def _done(self, group: Group, event: Event) -> None:
        for piece in group.pieces:
            if event.kind is EventKind.FAILED:
                self._promises.failed(piece.queries)
            elif piece.end == self._services[piece.service].operators:
                self._promises.ended(piece.queries, event.time_ns)

    def _started(self, state: State, start: Start) -> None:
        """Learn what queries hold where many wait.

        Between what they held and what they hold in a good batch: a service that is refused much
        has few to batch, and would be refused for it.
        """
        if len(start.pieces) > 1:
            return
        (piece,) = start.pieces
        service, count = piece.service, len(piece.queries)
        if len(state.waiting[service]) >= _MANY * count:
            share = state.deployment.partitions[start.partition].share_percent
            held = share * start.predicted_ns / count
            good = self._market.works[service] * self._ratios.mean[service]
            self._crowded.works[service] += _WEIGHT * (
                sqrt(held * good) - self._crowded.works[service]
            )

    def _refused(self, state: State, query: Query) -> Drop | None:
        """Say when a query would end that cannot be promised; None if it can be."""
        service, slo_ns = query.service, self._services[query.service].slo_ns
        backlog = self._backlog(state, query)
        end_ns = backlog.end_ns(query, state.waiting)
        slack = (query.deadline_ns - end_ns) / slo_ns
        most = (query.deadline_ns - state.now_ns - backlog.alone_ns[service]) / slo_ns
        if backlog.harms(query, state.waiting):
            return Drop(query, round(end_ns))
        return None if self._promises.admits(query, slack, most) else Drop(query, round(end_ns))

    def _backlog(self, state: State, query: Query) -> Backlog:
        """As it is for a query: others may be more urgent, or worth more, that are to come."""
        market, means, now_ns = self._crowded, self._ratios.mean, state.now_ns
        works = market.works
        market.look(now_ns, state.waiting, len(self._rooms))
        held = 0.0
        for room in self._rooms.values():
            for run in room.running.values():
                held += run.share_percent * max(0, run.end_ns - now_ns)
        rates_per_s = list(self._admitted.rates_per_s(now_ns))
        spans_ns = [max(0, query.deadline_ns - now_ns - s.slo_ns) for s in self._services]
        offered_per_s = self._offered.rates_per_s(now_ns)
        for k in market.worthier(query.service):
            rates_per_s[k] = offered_per_s[k]
            spans_ns[k] = query.deadline_ns - now_ns
        for rate, span_ns, work in zip(rates_per_s, spans_ns, works, strict=True):
            held += rate * span_ns * work / NS_PER_S
        alone_ns = [own * mean for own, mean in zip(self._alone_ns, means, strict=True)]
        own_ns = self._fastest_ns(query.service, query.items, query.sequence)
        alone_ns[query.service] = own_ns * means[query.service]
        percent = _FULL_PERCENT * max(1, len(self._rooms))
        return Backlog(now_ns, held, percent, works, alone_ns)

    def _seen_places(self) -> None:
        super()._seen_places()
        known = zip(self._crowded.works, self._market.works, strict=True)
        self._crowded.works = [max(own, work) for own, work in known]
        items = (max(1, round(own)) for own in self._market.items)
        self._alone_ns = [self._fastest_ns(k, own, 0) for k, own in enumerate(items)]

    def _fastest_ns(self, service: int, items: int, sequence: int) -> int:
        """Of a query alone, where it is fastest; 0 where it has no place."""
        places = self._places(service)
        return min(
            (self._predicted_ns(service, items, sequence, p.share_percent) for p in places),
            default=0,
        )
