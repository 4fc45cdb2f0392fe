"""Rounds: the first query of each service, one after the other, then the next round.

References
----------
Baselines of Abacus's release (SC'21), which take a head of every queue at once: within a round
they are FCFS, SJF or EDF, across rounds every service gets its turn, whatever its queries take.
"""

from __future__ import annotations

from collections.abc import Callable

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import piece_of

Order = Callable[[Query, int], int]

_ORDERS: dict[str, Order] = {
    "arrival": lambda query, took_ns: query.arrival_ns,
    "time": lambda query, took_ns: took_ns,
    "deadline": lambda query, took_ns: query.deadline_ns,
}


@DISPATCHERS.register("rounds")
class Rounds:
    """Serves rounds of whole queries, one at a time in each partition.

    Parameters
    ----------
    order : str
        Within a round: by "arrival", predicted "time" or "deadline".
    expired : bool
        Drop a waiting query, when its turn comes, whose deadline has passed.

    Raises
    ------
    ValueError
        If the order is unknown.
    """

    def __init__(self, context: Context, order: str = "arrival", expired: bool = False) -> None:
        if order not in _ORDERS:
            raise ValueError(f"order must be one of {', '.join(_ORDERS)}, got {order!r}")
        self._alone_ns = context.predictor.alone_ns
        self._operators = tuple(service.operators for service in context.services)
        self._order = _ORDERS[order]
        self._expired = expired
        self._rounds: dict[int, list[Query]] = {}

    def decide(self, state: State, event: Event) -> Decision:
        """Start or drop the next query of a round, where a partition is free."""
        for partition, group in enumerate(state.running):
            if group is None:
                query = self._next(state, partition)
                if query is not None:
                    return self._answer(state, partition, query)
        return NOTHING

    def _next(self, state: State, partition: int) -> Query | None:
        """Take the next query of the round that still waits, and whose service is still here;
        begin a round if there is none.
        """
        here = {a.service for a in state.deployment.of_partition[partition]}
        left = self._rounds.get(partition, [])
        while left:
            query = left.pop(0)
            if query.service in here and query in state.waiting[query.service]:
                return query
        self._rounds[partition] = self._begun(state, partition)
        return self._rounds[partition].pop(0) if self._rounds[partition] else None

    def _begun(self, state: State, partition: int) -> list[Query]:
        assignments = state.deployment.of_partition[partition]
        queues = (state.waiting[assignment.service] for assignment in assignments)
        heads = [waiting.oldest for waiting in queues if waiting]
        heads.sort(key=lambda query: self._order(query, self._took_ns(state, partition, query)))
        return heads

    def _took_ns(self, state: State, partition: int, query: Query) -> int:
        share_percent = state.deployment.partitions[partition].share_percent
        return self._alone_ns(query.service, query.items, query.sequence, share_percent)

    def _answer(self, state: State, partition: int, query: Query) -> Decision:
        if self._expired and query.deadline_ns < state.now_ns:
            return Decision(drops=(Drop(query, state.now_ns),))
        piece = piece_of((query,), 0, self._operators[query.service])
        took_ns = self._took_ns(state, partition, query)
        return Decision(starts=(Start(partition, (piece,), took_ns),))
