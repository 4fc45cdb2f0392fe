"""Timelines for Perfetto (ui.perfetto.dev) and chrome://tracing.

References
----------
Trace Event Format: complete events (``X``) with times in microseconds, names (``M``), and flow
events (``s``, ``f``), which are drawn as arrows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.explain.breakdown import Breakdown, BreakdownPiece
from surplus.engine.report.tracks import heading, label_of, tracks
from surplus.placement.timeline import Span, SpanKind, Timeline

_Event = dict[str, Any]


def write_trace(
    path: Path, timelines: Mapping[str, Timeline], breakdowns: Mapping[str, Breakdown] | None = None
) -> None:
    """Write timelines, each as a process of its own under its key, into one file."""
    trace = to_trace(timelines, breakdowns)
    write_atomic(Path(path), json.dumps(trace, separators=(",", ":")).encode())


def to_trace(
    timelines: Mapping[str, Timeline], breakdowns: Mapping[str, Breakdown] | None = None
) -> dict[str, Any]:
    """Make the trace: a process per timeline, a thread per lane and link; deterministic.

    Parameters
    ----------
    breakdowns : mapping of str to Breakdown, optional
        Of the timelines, by the same keys: adds a thread on which every stretch of the time is
        named after what it went to, and arrows along the critical path. Where the caller's
        side came before the submission, the process begins with it.
    """
    events: list[_Event] = []
    for number, (name, timeline) in enumerate(timelines.items(), 1):
        breakdown = (breakdowns or {}).get(name)
        process = _Process(number, _early_ns(breakdown))
        events.append(_name("process_name", number, 0, f"{name}: {heading(timeline)}"))
        events.append(_order("process_sort_index", number, 0, number))
        events += process.lanes(timeline)
        if breakdown is not None:
            events += process.critical_path(breakdown)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _early_ns(breakdown: Breakdown | None) -> int:
    return (
        max(0, -breakdown.pieces[0].start_ns) if breakdown is not None and breakdown.pieces else 0
    )


class _Process:
    """The events of one timeline, ``later_ns`` after its own clock."""

    def __init__(self, number: int, later_ns: int) -> None:
        self._number = number
        self._later_ns = later_ns
        self._threads = 0
        self._thread_of: dict[int, int] = {}

    def lanes(self, timeline: Timeline) -> Iterator[_Event]:
        for label, spans in tracks(timeline):
            self._threads += 1
            yield from self._thread(self._threads, label, self._threads)
            for span in spans:
                self._thread_of.setdefault(id(span), self._threads)
                yield self._complete(
                    self._threads, label_of(span), span.category, span, _details(span)
                )

    def critical_path(self, breakdown: Breakdown) -> Iterator[_Event]:
        """Call after ``lanes`` of the same timeline: arrows lead from span to span."""
        thread = self._threads + 1
        yield from self._thread(thread, "critical path", 0)
        for piece in breakdown.pieces:
            label = piece.category.value.replace("_", " ")
            yield self._complete(thread, label, label, piece, _reason(piece))
        for step, (before, after) in enumerate(pairwise(breakdown.path)):
            yield self._arrow("s", step, before)
            yield self._arrow("f", step, after) | {"bp": "e"}

    def _thread(self, thread: int, label: str, place: int) -> tuple[_Event, _Event]:
        return (
            _name("thread_name", self._number, thread, label),
            _order("thread_sort_index", self._number, thread, place),
        )

    def _complete(
        self,
        thread: int,
        name: str,
        category: str,
        when: Span | BreakdownPiece,
        details: dict[str, Any],
    ) -> _Event:
        return {
            "name": name,
            "cat": category,
            "ph": "X",
            "ts": (when.start_ns + self._later_ns) / 1e3,
            "dur": when.duration_ns / 1e3,
            "pid": self._number,
            "tid": thread,
            "args": details,
        }

    def _arrow(self, phase: str, step: int, span: Span) -> _Event:
        return {
            "name": "critical path",
            "cat": "critical path",
            "ph": phase,
            "id": f"{self._number}.{step}",
            "ts": (span.start_ns + self._later_ns) / 1e3,
            "pid": self._number,
            "tid": self._thread_of[id(span)],
        }


def _details(span: Span) -> dict[str, Any]:
    what = "tensor" if span.kind is SpanKind.COPY else span.kind.value
    return {
        "kind": span.kind.value,
        what: span.name,
        "index": span.index,
        "query": span.query,
        "queries": span.queries,
        "ready_us": span.ready_ns / 1e3,
        "queueing_us": span.queueing_ns / 1e3,
        "lanes": list(span.lanes),
    }


def _reason(piece: BreakdownPiece) -> dict[str, Any]:
    name = piece.span.name if piece.span is not None else ""
    return {"resource": piece.resource, "of": name}


def _name(what: str, process: int, thread: int, name: str) -> _Event:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _order(what: str, process: int, thread: int, index: int) -> _Event:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"sort_index": index}}
