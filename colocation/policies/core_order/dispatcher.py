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
from surplus.colocation.frame.state import State, urgency
from surplus.colocation.frame.work import piece_of
from surplus.colocation.policies.core_order.run_order import RunOrder, run_order

_NONE = (-1, -1)
"""No query is known to be late."""


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
        self._late: dict[tuple[int, int], tuple[int, int]] = {}
        self._begun: tuple[dict[int, Query], ...] = tuple({} for _ in context.services)

    def decide(self, state: State, event: Event) -> Decision:
        """Start one operator, where a partition is free."""
        for partition, group in enumerate(state.running):
            if group is None:
                first = min(self._ranked(state, partition), default=None)
                if first is not None:
                    return self._start(state, partition, first[1], first[2])
        return NOTHING

    def _ranked(self, state: State, partition: int) -> Iterator[tuple[RunOrder, Query, int]]:
        """Queries of which one is first: of each service the first one, those that have begun, and
        the first that may be in time; of queues of several priorities all.

        Who is late stays so until it begins, and in overload nearly all of a long queue are: up to
        which query of a service all are late that have not begun is remembered, where they came in
        the order of their deadlines.
        """
        share_percent = state.deployment.partitions[partition].share_percent
        for assignment in state.deployment.of_partition[partition]:
            service = assignment.service
            waiting = state.waiting[service]
            if not waiting:
                continue
            if not waiting.of_one_class:
                yield from (self._ranks(state, query, share_percent) for query in waiting)
                continue
            first = self._ranks(state, waiting.urgent, share_percent)
            yield first
            if not first[0].may_be_late:
                yield from self._begun_in_time(state, service, share_percent)
                yield from self._first_in_time(state, service, share_percent)

    def _begun_in_time(
        self, state: State, service: int, share_percent: int
    ) -> Iterator[tuple[RunOrder, Query, int]]:
        """Those that wait in part and may be in time."""
        begun = self._begun[service]
        running = _running(state) if begun else ()
        for query in list(begun.values()):
            if query.id in running:
                continue
            if query.id not in state.progress or query.deadline_ns < state.now_ns:
                del begun[query.id]  # it is over, or late as any other
            else:
                yield self._ranks(state, query, share_percent)

    def _first_in_time(
        self, state: State, service: int, share_percent: int
    ) -> Iterator[tuple[RunOrder, Query, int]]:
        """The first that may be in time, if there is one, behind those known to be late."""
        waiting = state.waiting[service]
        key = (service, share_percent)
        late = self._late.get(key, _NONE) if waiting.in_order else _NONE
        for query in waiting.behind(late):
            ranks = self._ranks(state, query, share_percent)
            if ranks[0].may_be_late:
                yield ranks
                break
            late = urgency(query)
        self._late[key] = late

    def _ranks(self, state: State, query: Query, share_percent: int) -> tuple[RunOrder, Query, int]:
        took_ns = self._alone_ns(query.service, query.items, query.sequence, share_percent)
        return self._order(state, query, took_ns), query, took_ns

    def _order(self, state: State, query: Query, took_ns: int) -> RunOrder:
        if query.service in self._best_effort:
            return run_order(query.priority, True, None, query.id)
        order = run_order(query.priority, False, query.deadline_ns, query.id)
        return order.at(state.now_ns, 0 if query.id in state.progress else took_ns)

    def _start(self, state: State, partition: int, query: Query, took_ns: int) -> Decision:
        operators = self._operators[query.service]
        first = state.progress.get(query.id, 0)
        if first + 1 < operators:
            self._begun[query.service][query.id] = query  # in time until its deadline passes
        else:
            self._begun[query.service].pop(query.id, None)
        piece = piece_of((query,), first, first + 1)
        return Decision(starts=(Start(partition, (piece,), took_ns // operators),))


def _running(state: State) -> set[int]:
    """Indices of the queries that run."""
    return {query.id for group in state.groups for piece in group.pieces for query in piece.queries}


def _places(context: Context, names: Sequence[str]) -> frozenset[int]:
    known = {service.name: index for index, service in enumerate(context.services)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"best_effort: there is no service {unknown[0]!r}, but {', '.join(known)}")
    return frozenset(known[name] for name in names)
