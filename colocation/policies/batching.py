"""What the policies have in common that form batches and take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from surplus.colocation.frame.decision import NOTHING, Decision, Drop, Start
from surplus.colocation.frame.deployment import Assignment
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import State, Waiting
from surplus.colocation.frame.work import piece_of


class Batches:
    """Prefixes of queues as batches, and how long they are predicted to take."""

    def __init__(self, context: Context) -> None:
        self._alone_ns = context.predictor.alone_ns
        self._operators = tuple(service.operators for service in context.services)

    def prefixes(
        self, waiting: Waiting, most_items: int, share_percent: int
    ) -> Iterator[tuple[tuple[Query, ...], int]]:
        """Yield each prefix of a queue of at most so many items, and its predicted time."""
        queries = waiting.first(most_items)
        items = sequence = 0
        for count, query in enumerate(queries, 1):
            items += query.items
            if items > most_items:
                return
            sequence = max(sequence, query.sequence)
            took_ns = self._alone_ns(query.service, items, sequence, share_percent)
            yield queries[:count], took_ns

    def longest(
        self, waiting: Waiting, most_items: int, share_percent: int
    ) -> tuple[tuple[Query, ...], int]:
        """Last of the prefixes; the queue must not be empty, nor its head too large."""
        return list(self.prefixes(waiting, most_items, share_percent))[-1]

    def longest_in_time(
        self, waiting: Waiting, most_items: int, share_percent: int, now_ns: int
    ) -> tuple[tuple[Query, ...], int] | None:
        """Longest prefix that is predicted to end before its first deadline; None if none is."""
        found = None
        for queries, took_ns in self.prefixes(waiting, most_items, share_percent):
            if now_ns + took_ns <= queries[0].deadline_ns:
                found = queries, took_ns
        return found

    def start(self, partition: int, queries: tuple[Query, ...], took_ns: int) -> Decision:
        """Run a batch from its first operator to its last one."""
        piece = piece_of(queries, 0, self._operators[queries[0].service])
        return Decision(starts=(Start(partition, (piece,), took_ns),))


Turn = Callable[[State, Assignment, int], Decision]
"""State, whose turn it is, share of the partition in percent -> what to do, maybe nothing."""


class Turns:
    """Round robin over the services of each partition; who has nothing to do is passed over."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def decide(self, state: State, turn: Turn) -> Decision:
        """Ask the services of the free partitions in turn, until one has an answer.

        A turn ends with a start; drops leave the turn where it is.
        """
        partitions, running = state.deployment.partitions, state.running
        for partition, assignments in enumerate(state.deployment.of_partition):
            if not assignments or running[partition] is not None:
                continue
            share_percent = partitions[partition].share_percent
            first = self._next.get(partition, 0)
            for step in range(len(assignments)):
                place = (first + step) % len(assignments)
                decision = turn(state, assignments[place], share_percent)
                if decision.starts:
                    self._next[partition] = place + 1
                if decision.starts or decision.drops:
                    return decision
        return NOTHING


def give_up(query: Query, now_ns: int, took_ns: int) -> Decision:
    """Drop one query that would take so long."""
    return Decision(drops=(Drop(query, now_ns + took_ns),))
