"""Times of batches, looked up by bisection where queries are alike."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Waiting


class FittingBatch(NamedTuple):
    """The longest prefix of a queue that fits into a time, and what it takes."""

    size: int
    took_ns: int


NONE = FittingBatch(0, 0)


class BatchTimes:
    """Predicted times of prefixes of queues.

    Parameters
    ----------
    predictor : Predictor
    """

    def __init__(self, predictor: Predictor) -> None:
        self._alone_ns = predictor.alone_ns
        self._rows: dict[tuple[int, int, int, int], list[int]] = {}

    def row(
        self, service: int, items: int, sequence: int, share_percent: int, most_items: int
    ) -> list[int]:
        """Times of 1, 2, ... queries of so many items each, never falling; not to be changed."""
        key = (service, items, sequence, share_percent)
        found = self._rows.get(key)
        most = max(1, most_items // items)
        if found is None or len(found) < most:
            found, longest_ns = [], 0
            for count in range(1, most + 1):
                took_ns = self._alone_ns(service, count * items, sequence, share_percent)
                longest_ns = max(longest_ns, took_ns)
                found.append(longest_ns)
            self._rows[key] = found
        return found

    def longest(
        self, waiting: Waiting, most_items: int, share_percent: int, limit_ns: float
    ) -> FittingBatch:
        """The longest prefix of at most so many items within a time; the queue is not empty."""
        head = waiting.urgent
        if not waiting.alike:
            return self._unlike(waiting, most_items, share_percent, limit_ns)
        row = self.row(head.service, head.items, head.sequence, share_percent, most_items)
        most = min(len(waiting), max(1, most_items // head.items))
        count = bisect_right(row, limit_ns, 0, most)
        return FittingBatch(count, row[count - 1]) if count else NONE

    def first_ns(self, waiting: Waiting, share_percent: int) -> int:
        """Time of the most urgent query alone."""
        head = waiting.urgent
        return self._alone_ns(head.service, head.items, head.sequence, share_percent)

    def prefixes_ns(self, waiting: Waiting, most_items: int, share_percent: int) -> Sequence[int]:
        """Times of the first 1, 2, ... queries of a queue together, up to the largest batch.

        Where queries are alike also of more than there are.
        """
        head = waiting.urgent
        most = max(1, most_items // head.items)
        if waiting.alike:
            key = (head.service, head.items, head.sequence, share_percent)
            return self.row(*key, most_items)[:most]
        return self.prefixes_of(waiting, most_items, share_percent)

    def prefixes_of(
        self, queries: Iterable[Query], most_items: int, share_percent: int
    ) -> Sequence[int]:
        """Times of the first 1, 2, ... of some queries together, up to the largest batch."""
        found: list[int] = []
        items = sequence = 0
        for query in queries:
            items += query.items
            if items > most_items and found:
                break
            sequence = max(sequence, query.sequence)
            found.append(self._alone_ns(query.service, items, sequence, share_percent))
        return found

    def _unlike(
        self, waiting: Waiting, most_items: int, share_percent: int, limit_ns: float
    ) -> FittingBatch:
        """Queries of several sizes: one after the other, until one does not fit."""
        found = NONE
        for count, took_ns in enumerate(self.prefixes_ns(waiting, most_items, share_percent), 1):
            if took_ns > limit_ns:
                break
            found = FittingBatch(count, took_ns)
        return found
