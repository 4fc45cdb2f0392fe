"""What a policy sees.

``State`` is a snapshot that nothing can be changed through. Its containers are read-only views of
the controller's: copying queues at each event would make a run quadratic in the backlog. They hold
still during a decision; a policy must not keep them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Group


def urgency(query: Query) -> tuple[int, int]:
    """What a service's queries wait in the order of: deadline, then index."""
    return query.deadline_ns, query.id


class Waiting:
    """The waiting queries of one service, most urgent first (deadline, then index).

    The core reads ``_queries`` and ``_alike`` by their names, and keeps the deque: it is never
    another one, and once not alike queries stay so (``core/python_queues.cpp``).
    """

    __slots__ = ("_alike", "_in_order", "_one_class", "_queries")

    def __init__(self) -> None:
        self._queries: deque[Query] = deque()
        self._alike = True
        self._in_order = True
        self._one_class = True

    def __len__(self) -> int:
        return len(self._queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries)

    @property
    def urgent(self) -> Query:
        """The one with the earliest deadline; there must be one."""
        return self._queries[0]

    @property
    def oldest(self) -> Query:
        """The one that came first; there must be one."""
        return self._queries[0] if self._in_order else min(self._queries)

    @property
    def in_order(self) -> bool:
        """Whether they came in the order of their deadlines."""
        return self._in_order

    @property
    def alike(self) -> bool:
        """Whether all queries so far had the same items and sequence length."""
        return self._alike

    @property
    def of_one_class(self) -> bool:
        """Whether all queries since it was last empty had the same priority."""
        return self._one_class

    def preferred(self) -> list[Query]:
        """The queries of the highest priority, most urgent first; there must be one."""
        most = max(query.priority for query in self._queries)
        return [query for query in self._queries if query.priority == most]

    def first(self, count: int) -> tuple[Query, ...]:
        """At most ``count`` queries, most urgent first."""
        return tuple(islice(self._queries, count))

    def behind(self, key: tuple[int, int]) -> Iterator[Query]:
        """Queries whose ``urgency`` is above this one, most urgent first."""
        queries = self._queries
        begin = bisect_right(queries, key, key=urgency)
        return (queries[place] for place in range(begin, len(queries)))


class Queue(Waiting):
    """The controller's side of it."""

    __slots__ = ()

    def add(self, query: Query) -> None:
        """Put a query where its deadline says; constant time if that is an end."""
        queries = self._queries
        if not queries:
            self._one_class = True
            queries.append(query)
            return
        self._one_class = self._one_class and queries[0].priority == query.priority
        if self._alike:
            first = queries[0]
            self._alike = first.items == query.items and first.sequence == query.sequence
        last = queries[-1]
        if urgency(last) < urgency(query):
            self._in_order = self._in_order and last.id < query.id
            queries.append(query)
        else:
            self._insert(query)

    def remove(self, query: Query) -> None:
        """Take a query out; constant time if it is the most urgent one.

        Raises
        ------
        ValueError
            If it is not here.
        """
        if self._queries and self._queries[0] is query:
            self._queries.popleft()
        else:
            self._queries.remove(query)

    def _insert(self, query: Query) -> None:
        place = bisect_right(self._queries, urgency(query), key=urgency)
        self._in_order = self._in_order and query.id < self._queries[place].id
        self._in_order = self._in_order and (place == 0 or self._queries[place - 1].id < query.id)
        self._queries.insert(place, query)


class State(NamedTuple):
    """The controller at one instant.

    Parameters
    ----------
    now_ns : int
    waiting : tuple of Waiting
        By service.
    running : sequence of Group or None
        By partition of the deployment; None where it is free.
    deployment : Deployment
    progress : mapping of int to int
        First operator that has not run to its end, of queries by index that have begun, also while
        they run; a query that is not in it is at operator 0.
    pressure : float, optional
        How hard other work presses on the machine, as it tells itself: 0 where nothing does. None
        where it was not asked (``pressed.py``).
    """

    now_ns: int
    waiting: tuple[Waiting, ...]
    running: Sequence[Group | None]
    deployment: Deployment
    progress: Mapping[int, int]
    pressure: float | None = None

    @property
    def groups(self) -> Iterator[Group]:
        """What runs, by partition."""
        return (group for group in self.running if group is not None)
