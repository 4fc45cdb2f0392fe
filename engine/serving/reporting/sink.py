"""Who is told of queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from surplus.engine.serving.seen_query import SeenQuery


class Sink(Protocol):
    """Called in a thread that is not the event loop's, one call at a time."""

    def record(self, queries: Sequence[SeenQuery]) -> None:
        """Queries that have ended, in any order."""
        ...

    def close(self) -> None:
        """Tell what is left; blocks for seconds at most."""
        ...
