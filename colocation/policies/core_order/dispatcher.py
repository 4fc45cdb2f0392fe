"""The engine's own order, as a policy: what many models get that are loaded with deadlines.

Priority first, then the earliest deadline; who cannot be in time any more gives way; best effort
last (docs/internals/core.md). A model that is cut into operators makes way between two of them,
where the engine lends the lane within one; uncut ones are not interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surplus.colocation.frame.decision import NOTHING, Decision, Start
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.core_order.run_order import LATE, RunOrder, run_order

_FORGET = 64
"""So many queries more than twice those that wait may be remembered."""


@DISPATCHERS.register("core_order")
class CoreOrder:
    """Runs one operator of the first query in each partition that is free.

    Parameters
    ----------
    best_effort : tuple of str
        Services behind all others, which are not due.

    Raises
    ------
    ValueError
        If there is no such service.
    """

    def __init__(self, context: Context, best_effort: tuple[str, ...] = ()) -> None:
        self._alone_ns = context.predictor.alone_ns
        self._operators = tuple(service.operators for service in context.services)
        self._best_effort = _places(context, best_effort)
        self._late: dict[tuple[int, int], set[int]] = {}

    def decide(self, state: State, event: Event) -> Decision:
        """Start one operator, where a partition is free."""
        for partition, group in enumerate(state.running):
            if group is None:
                first = min(self._ranked(state, partition), default=None)
                if first is not None:
                    return self._start(state, partition, first[1], first[2])
        return NOTHING

    def _ranked(self, state: State, partition: int) -> Iterator[tuple[RunOrder, Query, int]]:
        """Queries of which one is first: of each service the first late one, and those that may be
        in time up to the first.

        Who is late stays so until it begins, and in overload nearly all of a long queue are: they
        are remembered, and passed over.
        """
        share_percent = state.deployment.partitions[partition].share_percent
        for assignment in state.deployment.of_partition[partition]:
            waiting = state.waiting[assignment.service]
            late = self._known_late(assignment.service, share_percent, waiting)
            plain, is_first = waiting.of_one_class, True
            for query in waiting:
                if plain and not is_first and query.id in late:
                    continue
                took_ns = self._alone_ns(query.service, query.items, query.sequence, share_percent)
                order = self._order(state, query, took_ns)
                yield order, query, took_ns
                if order.may_be_late and plain:
                    break
                if order.stands == LATE:
                    late.add(query.id)
                    is_first = False

    def _known_late(self, service: int, share_percent: int, waiting: Waiting) -> set[int]:
        """Of the service's queries on such a share; those that have left are forgotten in time."""
        late = self._late.setdefault((service, share_percent), set())
        if len(late) > 2 * len(waiting) + _FORGET:
            late.intersection_update([query.id for query in waiting])
        return late

    def _order(self, state: State, query: Query, took_ns: int) -> RunOrder:
        if query.service in self._best_effort:
            return run_order(query.priority, True, None, query.id)
        order = run_order(query.priority, False, query.deadline_ns, query.id)
        return order.at(state.now_ns, 0 if query.id in state.progress else took_ns)

    def _start(self, state: State, partition: int, query: Query, took_ns: int) -> Decision:
        for late in self._late.values():
            late.discard(query.id)  # once it has begun it may be in time until its deadline
        operators = self._operators[query.service]
        first = state.progress.get(query.id, 0)
        piece = piece_of((query,), first, first + 1)
        return Decision(starts=(Start(partition, (piece,), took_ns // operators),))


def _places(context: Context, names: Sequence[str]) -> frozenset[int]:
    known = {service.name: index for index, service in enumerate(context.services)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"best_effort: there is no service {unknown[0]!r}, but {', '.join(known)}")
    return frozenset(known[name] for name in names)
