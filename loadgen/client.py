"""The extension point of the load generator: what a query is sent through."""

from __future__ import annotations

from typing import Protocol


class QuerySender(Protocol):
    """Sends one query and waits for its answer; many may be in flight on one event loop."""

    async def send(self, query: int) -> None:
        """Send query number ``query`` (0, 1, 2 ...) and return once its answer is there.

        Raises
        ------
        ClientError
            If the query failed; its ``kind`` is counted.
        """
        ...
