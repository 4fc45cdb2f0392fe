"""One query for Perfetto: what the server did with it, and what ran meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surplus.engine.explain.late_query import LateQuery
from surplus.engine.report.late import why_events
from surplus.engine.report.trace import to_trace

Row = dict[str, Any]

_SERVER = 1_000
"""The process of the server's own stretches; those of timelines are numbered from 1."""


def query_trace(
    title: str,
    moments: Sequence[tuple[str, int, int]],
    about: Mapping[str, Any],
    query: LateQuery | None,
) -> Row:
    """Draw it from its receipt on.

    Parameters
    ----------
    moments : sequence of (str, int, int)
        What the server did, from when to when, in ns on one clock; the first begins at time 0.
    about : mapping
        What else is known of it.
    query : LateQuery or None
        What the core recorded of it, on the same clock; None where that is not known.
    """
    zero_ns = moments[0][1]
    events = list(_stretches(title, moments, zero_ns))
    if query is not None:
        drawn = to_trace({title: query.timeline}, {title: query.breakdown})["traceEvents"]
        drawn += why_events(1, query, "what its time went to")
        later_us = (query.run.begun_ns - zero_ns) / 1e3
        events += [_later(event, later_us) for event in drawn]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": dict(about)}


def _stretches(title: str, moments: Sequence[tuple[str, int, int]], zero_ns: int) -> Iterator[Row]:
    place = {"pid": _SERVER, "tid": 1}
    yield {"name": "process_name", "ph": "M", **place, "args": {"name": f"{title}: server"}}
    yield {"name": "process_sort_index", "ph": "M", **place, "args": {"sort_index": 0}}
    yield {"name": "thread_name", "ph": "M", **place, "args": {"name": "request"}}
    for name, start_ns, end_ns in moments:
        when = {"ts": (start_ns - zero_ns) / 1e3, "dur": (end_ns - start_ns) / 1e3}
        yield {"name": name, "cat": "server", "ph": "X", **place, **when, "args": {}}


def _later(event: Row, later_us: float) -> Row:
    return {**event, "ts": event["ts"] + later_us} if "ts" in event else event
