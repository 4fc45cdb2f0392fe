"""Takes queries that have ended from who answered them, and tells of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.reporting.counted_spans import CountedSpans
from surplus.engine.serving.reporting.query_log import QueryLog
from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.reporting.sink import Sink
from surplus.engine.serving.trace_settings import TraceSettings

_LOOK_S = 0.2
"""The front end keeps 1024 from one look to the next: 5,000 a second are told of at most."""

_log = logging.getLogger(__name__)


def trace_settings(params: ReportParams) -> TraceSettings:
    """What is traced at the start."""
    return TraceSettings(params.every) if params.otlp else TraceSettings()


def sinks_of(params: ReportParams, traces: TraceSettings) -> list[Sink]:
    """Who is told.

    Parameters
    ----------
    traces : TraceSettings
        How many spans there may be.

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

        found.append(CountedSpans(Spans(params), traces))
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
        self._params = params
        self._sampled: tuple[int, bool] = (0, False)
        plane.traces.on_change = self._sample
        self._sample()
        self._task = asyncio.create_task(self._run())

    def _sample(self) -> None:
        """Have those kept that are told of: lines of the log are no fewer without spans."""
        traces = self._plane.traces
        every = traces.every if self._params.otlp else self._params.every
        wanted = every if traces.is_on or self._params.logs else 0, traces.is_on
        if wanted != self._sampled:
            self._sampled = wanted
            self._plane.sample(wanted[0], follows=wanted[1])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            await self._tell()

    async def _tell(self) -> None:
        if queries := self._plane.take_sampled():
            for sink in self._sinks:
                await asyncio.to_thread(sink.record, queries)
            self._sample()  # no span may be left

    async def close(self) -> None:
        """Tell of what is left."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._tell()
        for sink in self._sinks:
            await asyncio.to_thread(sink.close)
