"""Clockwork: one batch at a time, chosen by when it must start; misses are refused at once.

References
----------
Gujarati et al.: Serving DNNs like Clockwork, OSDI 2020, sections 4.4 and 5.3. Each service has a
strategy for each batch size, with the latest time at which it may start; the earliest one that
can still be kept is taken. Departures: models are always loaded; batch sizes are 1, 2, 4, ...
queries; a query is refused when it comes if it would be late even if it were next.
"""

from __future__ import annotations

from collections.abc import Iterator

from surplus.colocation.frame.decision import NOTHING, Decision
from surplus.colocation.frame.dispatcher import DISPATCHERS, Context
from surplus.colocation.frame.event import Event
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.policies.batching import Batches, give_up


@DISPATCHERS.register("clockwork")
class Clockwork:
    """Takes the strategy with the earliest latest start not yet past; of equals, the largest."""

    def __init__(self, context: Context) -> None:
        self._batches = Batches(context)
        self._alone_ns = context.predictor.alone_ns

    def decide(self, state: State, event: Event) -> Decision:
        """Refuse the query that came, or run the next batch."""
        refused = self._refuse(state, event.query) if event.query is not None else NOTHING
        if refused.drops:
            return refused
        for partition, group in enumerate(state.running):
            if group is None:
                decision = self._next(state, partition)
                if decision is not NOTHING:
                    return decision
        return NOTHING

    def _refuse(self, state: State, query: Query) -> Decision:
        """Drop a query that came if it cannot be in time on any of its partitions."""
        if query not in state.waiting[query.service]:
            return NOTHING
        partitions = state.deployment.partitions
        ends_ns = [
            self._free_ns(state, a.partition)
            + self._alone_ns(
                query.service, query.items, query.sequence, partitions[a.partition].share_percent
            )
            for a in state.deployment.assignments
            if a.service == query.service
        ]
        if not ends_ns:
            return NOTHING
        end_ns = min(ends_ns)
        late = end_ns > query.deadline_ns
        return give_up(query, state.now_ns, end_ns - state.now_ns) if late else NOTHING

    def _free_ns(self, state: State, partition: int) -> int:
        group = state.running[partition]
        end_ns = state.now_ns if group is None else group.start_ns + group.predicted_ns
        return max(state.now_ns, end_ns)

    def _next(self, state: State, partition: int) -> Decision:
        share_percent = state.deployment.partitions[partition].share_percent
        best: tuple[int, int, int, tuple[Query, ...], int] | None = None
        for who in state.deployment.of_partition[partition]:
            waiting = state.waiting[who.service]
            found = False
            for queries, took_ns in self._strategies(waiting, who.batch, share_percent):
                latest_ns = queries[0].deadline_ns - took_ns
                if latest_ns >= state.now_ns:
                    found = True
                    rank = (latest_ns, -len(queries), queries[0].id, queries, took_ns)
                    best = rank if best is None else min(best, rank)
            if waiting and not found:
                query = waiting.urgent
                _, took_ns = next(self._batches.prefixes(waiting, who.batch, share_percent))
                return give_up(query, state.now_ns, took_ns)
        if best is None:
            return NOTHING
        return self._batches.start(partition, best[3], best[4])

    def _strategies(
        self, waiting: Waiting, most_items: int, share_percent: int
    ) -> Iterator[tuple[tuple[Query, ...], int]]:
        for queries, took_ns in self._batches.prefixes(waiting, most_items, share_percent):
            if len(queries) & (len(queries) - 1) == 0:
                yield queries, took_ns
