"""What answers queries before they come to Python."""

from __future__ import annotations

from typing import Protocol

from surplus.engine.serving.seen_query import SeenQuery


class Front(Protocol):
    """A front end of the server that runs queries by itself."""

    @property
    def in_flight(self) -> int:
        """Queries that it runs."""
        ...

    def leave(self) -> None:
        """Be ready no more, and answer queries all the same."""
        ...

    def recent(self) -> list[SeenQuery]:
        """The last queries that ended there."""
        ...

    def sample(self, every: int, *, follows: bool) -> None:
        """As ``SeenQueries.sample``, of those."""
        ...

    def take_sampled(self) -> list[SeenQuery]:
        """As ``SeenQueries.take_sampled``, of those."""
        ...

    def drain(self) -> None:
        """Run no further query: the data plane says why."""
        ...

    def abandon(self) -> None:
        """Cancel those that it runs; their callers get UNAVAILABLE."""
        ...

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait until it runs none; False if some still run after ``timeout_s``."""
        ...
