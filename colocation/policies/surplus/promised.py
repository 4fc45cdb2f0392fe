"""``priced``, behind a door: who comes in has a promise, who cannot be promised is told at once."""

from __future__ import annotations

from typing import Any

from surplus.colocation.frame.decision import Decision, Drop
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.policies.surplus.dispatcher import Priced
from surplus.colocation.policies.surplus.promises import Promises

_FULL_PERCENT = 100


@DISPATCHERS.register("promised")
class Promised(Priced):
    """Refuses at arrival what it could not promise.

    Parameters
    ----------
    promise : float
        Share of the admitted queries of each service that are answered in time.
    **options
        Of ``PricedParams``; nobody who was admitted is given up for a larger batch.
    """

    def __init__(self, context: Context, promise: float = 0.999, **options: Any) -> None:
        super().__init__(context, **{**options, "skip": False})
        self._promises = Promises([service.slo_ns for service in context.services], promise)
        self._met: Event | None = None

    def decide(self, state: State, event: Event) -> Decision:
        """At the door, then as ``priced``."""
        if event is not self._met:
            self._met = event
            if event.query is not None:
                end_ns = self._end_ns(state, event.query)
                waits = event.query in state.waiting[event.query.service]
                if waits and not self._promises.admits(event.query, end_ns):
                    return Decision(drops=(Drop(event.query, round(end_ns)),))
            elif event.kind is EventKind.DONE and event.group is not None:
                for piece in event.group.pieces:
                    if piece.end == self._services[piece.service].operators:
                        self._promises.ended(piece.queries, event.time_ns)
        decision = super().decide(state, event)
        self._promises.given_up(drop.query for drop in decision.drops)
        return decision

    def _end_ns(self, state: State, query: Query) -> float:
        """If all that waits and runs had to go first, each in a good batch."""
        market = self._market
        held = sum(
            len(queue) * work for queue, work in zip(state.waiting, market.works, strict=True)
        )
        for room in self._rooms.values():
            for run in room.running.values():
                held += run.share_percent * max(0, run.end_ns - state.now_ns)
        devices = max(1, len(self._rooms))
        alone_ns = min(
            (
                self._predicted_ns(query.service, query.items, query.sequence, p.share_percent)
                for p in self._places(query.service)
            ),
            default=0,
        )
        return state.now_ns + held / (_FULL_PERCENT * devices) + alone_ns
