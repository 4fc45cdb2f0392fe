"""The last queries that Python answered, and those of which somebody is to be told."""

from __future__ import annotations

from collections import deque

from surplus.engine.serving.seen_query import MOST, SeenQuery


class SeenQueries:
    """As the native front end's (engine/core/frontend/recent_queries.hpp). On one event loop."""

    def __init__(self) -> None:
        self._last: deque[SeenQuery] = deque(maxlen=MOST)
        self._sampled: deque[SeenQuery] = deque(maxlen=MOST)
        self._every, self._follows, self._added = 0, False, 0

    def add(self, query: SeenQuery) -> None:
        """One that has ended."""
        is_due = self._every != 0 and self._added % self._every == 0
        self._added += 1
        self._last.append(query)
        if is_due or (self._follows and query.is_sampled):
            self._sampled.append(query)

    def last(self) -> list[SeenQuery]:
        """The oldest first."""
        return list(self._last)

    def sample(self, every: int, *, follows: bool) -> None:
        """Keep one of so many, 0 none; with ``follows`` those whose trace is recorded, too."""
        self._every, self._follows = every, follows

    def take_sampled(self) -> list[SeenQuery]:
        """Those that were kept since the last call."""
        taken = list(self._sampled)
        self._sampled.clear()
        return taken
