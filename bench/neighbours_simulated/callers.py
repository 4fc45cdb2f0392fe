"""Who asks: three callers a stream, each of whom waits for an answer before the next query."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from bench.neighbours_simulated.stream_load import StreamQuery

CALLERS = 3
"""As bench/neighbours/contender.py has them."""


class Callers:
    """Lets queries of a stream in while a caller is free, in order.

    Parameters
    ----------
    queries : sequence of StreamQuery
        In order of arrival.
    """

    def __init__(self, queries: Sequence[StreamQuery]) -> None:
        self._queries = queries
        self._next = 0
        self._in_flight = [0] * (1 + max((query.stream for query in queries), default=0))
        self._late: list[deque[int]] = [deque() for _ in self._in_flight]

    @property
    def next_ns(self) -> int | None:
        """When the next query comes."""
        if self._next == len(self._queries):
            return None
        return self._queries[self._next].asked.arrival_ns

    def come(self, now_ns: int) -> Iterator[int]:
        """Places of the queries that come now and find a caller."""
        while self.next_ns is not None and self.next_ns <= now_ns:
            place, self._next = self._next, self._next + 1
            stream = self._queries[place].stream
            if self._in_flight[stream] < CALLERS:
                self._in_flight[stream] += 1
                yield place
            else:
                self._late[stream].append(place)

    def answered(self, place: int) -> int | None:
        """A caller has its answer; the query that it asks next, if one is late."""
        stream = self._queries[place].stream
        if self._late[stream]:
            return self._late[stream].popleft()
        self._in_flight[stream] -= 1
        return None
