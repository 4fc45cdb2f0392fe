"""What the policies have in common that run one query at a time, in some order.

FCFS, SJF and EDF differ in a key; nothing else of them is theirs. A query of a higher priority
always comes first; the key decides among equals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import piece_of


class SerialOrder(ABC):
    """Runs whole queries one at a time in each partition.

    Parameters
    ----------
    drop : bool
        Drop a query, when its turn comes, that is predicted to miss its deadline.
    expired : bool
        Drop a waiting query once its deadline has passed (Abacus, SC'21, section 7.1); predicts
        nothing.
    """

    def __init__(self, context: Context, drop: bool = False, expired: bool = False) -> None:
        self._predictor: Predictor = context.predictor
        self._operators = tuple(service.operators for service in context.services)
        self._drop = drop
        self._expired = expired

    @abstractmethod
    def candidates(self, waiting: Waiting) -> Iterable[Query]:
        """The queries of a service's queue that may be its next, never none."""

    @abstractmethod
    def key(self, query: Query, took_ns: int) -> tuple[int, ...]:
        """What is least of the one that runs next, of those: ties go to the one that came first.

        Parameters
        ----------
        took_ns : int
            The query's predicted time alone.
        """

    def decide(self, state: State, event: Event) -> Decision:
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
            key = (-query.priority, *self.key(query, took_ns))
            rank = (key, query.id, query, took_ns)
            if best is None or rank < best:
                best = rank
        return None if best is None else (best[2], best[3])

    def _all(self, state: State, partition: int) -> Iterator[Query]:
        for assignment in state.deployment.of_partition[partition]:
            waiting = state.waiting[assignment.service]
            if waiting:
                plain = waiting.of_one_class
                yield from self.candidates(waiting) if plain else waiting.preferred()

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
