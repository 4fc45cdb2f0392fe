"""Takes queries that have ended from who answered them, and tells of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.reporting.query_log import QueryLog
from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.reporting.sink import Sink

_LOOK_S = 0.2
"""The front end keeps 1024 from one look to the next: 5,000 a second are told of at most."""

_log = logging.getLogger(__name__)


def sinks_of(params: ReportParams) -> list[Sink]:
    """Who is told.

    Raises
    ------
    ConfigError
        If spans are wanted and OpenTelemetry is not installed.
    """
    found: list[Sink] = []
    if params.logs:
        found.append(QueryLog())
    if params.otlp:
        from surplus.engine.serving.reporting.spans import Spans

        found.append(Spans(params))
    return found


class Reports:
    """Tells of queries from now on. On the server's event loop.

    Parameters
    ----------
    plane : DataPlane
        Whose queries they are, its front end's with them.
    """

    def __init__(self, plane: DataPlane, params: ReportParams, sinks: Sequence[Sink]) -> None:
        self._plane = plane
        self._sinks = sinks
        plane.sample(params.every, follows=bool(params.otlp))
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self._tell()

    async def _tell(self) -> None:
        if queries := self._plane.take_sampled():
            for sink in self._sinks:
                await asyncio.to_thread(sink.record, queries)

    async def close(self) -> None:
        """Tell of what is left."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._tell()
        for sink in self._sinks:
            await asyncio.to_thread(sink.close)
