"""A synchronous callable of this process as a client, for open loops without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class InProcessClient:
    """Calls ``call(query)`` in a pool of threads.

    Parameters
    ----------
    call : callable
        Thread-safe; raises ClientError for a query that failed.
    threads : int
        Calls that run at once, >= 1; further ones wait, and their wait is latency.
    """

    def __init__(self, call: Callable[[int], object], threads: int) -> None:
        if threads < 1:
            raise ValueError(f"threads must be >= 1, got {threads}")
        self._call = call
        self._pool = ThreadPoolExecutor(threads, "loadgen-client")

    async def send(self, query: int) -> None:
        """Run the call in the pool and wait for it."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._call, query)

    def close(self) -> None:
        """Wait for the calls in flight and end the threads."""
        self._pool.shutdown()
