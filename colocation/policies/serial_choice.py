"""What the policies have in common that run one query at a time, in some order.

FCFS, SJF and EDF differ in a key; nothing else of them is theirs. A query of a higher priority
always comes first; the key decides among equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import piece_of

Candidates = Callable[[Waiting], Iterable[Query]]
"""The queries of a service's queue that may be its next, never none."""

Key = Callable[[Query, int], tuple[int, ...]]
"""Query, and its predicted time alone -> what is least of the one that runs next."""


class SerialChoice:
    """Runs whole queries one at a time in each partition.

    Parameters
    ----------
    context : Context
    candidates : callable
        Which queries of a queue to look at.
    key : callable
        Which of them is next; ties go to the one that came first.
    drop : bool
        Whether a query that is chosen but predicted to miss its deadline is dropped instead.
    expired : bool
        Whether waiting queries are dropped once their deadline has passed; predicts nothing.
    """

    def __init__(
        self,
        context: Context,
        candidates: Candidates,
        key: Key,
        drop: bool,
        expired: bool = False,
    ) -> None:
        self._predictor: Predictor = context.predictor
        self._operators = tuple(service.operators for service in context.services)
        self._candidates = candidates
        self._key = key
        self._drop = drop
        self._expired = expired

    def decide(self, state: State) -> Decision:
        """Start or drop one query, where a partition is free."""
        if self._expired:
            decision = _expired(state)
            if decision.drops:
                return decision
        for partition, group in enumerate(state.running):
            if group is None:
                found = self._next(state, partition)
                if found is not None:
                    return self._answer(state, partition, *found)
        return NOTHING

    def _next(self, state: State, partition: int) -> tuple[Query, int] | None:
        share_percent = state.deployment.partitions[partition].share_percent
        alone_ns = self._predictor.alone_ns
        best: tuple[tuple[int, ...], int, Query, int] | None = None
        for query in self._all(state, partition):
            took_ns = alone_ns(query.service, query.items, query.sequence, share_percent)
            key = (-query.priority, *self._key(query, took_ns))
            rank = (key, query.id, query, took_ns)
            if best is None or rank < best:
                best = rank
        return None if best is None else (best[2], best[3])

    def _all(self, state: State, partition: int) -> Iterator[Query]:
        for assignment in state.deployment.of_partition[partition]:
            waiting = state.waiting[assignment.service]
            if waiting:
                plain = waiting.of_one_class
                yield from self._candidates(waiting) if plain else waiting.preferred()

    def _answer(self, state: State, partition: int, query: Query, took_ns: int) -> Decision:
        if self._drop and state.now_ns + took_ns > query.deadline_ns:
            return Decision(drops=(Drop(query, state.now_ns + took_ns),))
        piece = piece_of((query,), 0, self._operators[query.service])
        return Decision(starts=(Start(partition, (piece,), took_ns),))


def _expired(state: State) -> Decision:
    """Drop the first query of each service that cannot be in time any more."""
    heads = (waiting.urgent for waiting in state.waiting if waiting)
    now_ns = state.now_ns
    return Decision(drops=tuple(Drop(q, now_ns) for q in heads if q.deadline_ns < now_ns))
