"""Spans of as many queries as clients of the server have left."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.serving.reporting.sink import Sink
from surplus.engine.serving.seen_query import SeenQuery
from surplus.engine.serving.trace_settings import TraceSettings


class CountedSpans(Sink):
    """Tells another sink of those queries that the trace settings let through.

    Parameters
    ----------
    spans : Sink
        Another's no more.
    settings : TraceSettings
        Of the server.
    """

    def __init__(self, spans: Sink, settings: TraceSettings) -> None:
        self._spans = spans
        self._settings = settings

    def record(self, queries: Sequence[SeenQuery]) -> None:
        """The first of them, as many as are left."""
        if count := self._settings.take(len(queries)):
            self._spans.record(queries[:count])

    def close(self) -> None:
        """As the other."""
        self._spans.close()
