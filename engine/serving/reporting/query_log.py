"""Lines of the log, one a query."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from surplus.engine.serving.json_log import write_at_once
from surplus.engine.serving.reporting.sink import Sink
from surplus.engine.serving.seen_query import SeenQuery

_log = logging.getLogger(__name__)


class QueryLog(Sink):
    """Writes a line a query, whose parts are fields of their own where the log is JSON.

    Whatever else is logged, and however often: who asks for the lines wants each.
    """

    def record(self, queries: Sequence[SeenQuery]) -> None:
        """Write them."""
        for query in queries:
            fields = fields_of(query)
            text = " ".join(f"{name}={value}" for name, value in fields.items())
            given = _log.name, logging.INFO, "", 0, f"query {text}", (), None
            write_at_once(_log.makeRecord(*given, extra=fields), logging.getLogger().handlers)

    def close(self) -> None:
        """Nothing: the log stays."""


def fields_of(query: SeenQuery) -> dict[str, str | float]:
    """What is told of a query, but what is not known or empty. Times in milliseconds."""
    found: dict[str, str | float | None] = {
        "model": query.model,
        "version": query.version,
        "id": query.id,
        "trace_id": query.trace_id,
        "outcome": "ok" if query.trouble is None else query.trouble.value,
        "took_ms": _ms(query.answered_ns - query.received_ns),
        **{f"{name}_ms": _ms(end_ns - start_ns) for name, start_ns, end_ns in query.stages},
        "waited_ms": _ms(query.waited_ns) if query.waited_ns >= 0 else None,
    }
    return {name: value for name, value in found.items() if value not in ("", None)}


def _ms(duration_ns: int) -> float:
    return round(duration_ns / 1e6, 4)
