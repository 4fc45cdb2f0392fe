"""Timelines for Perfetto (ui.perfetto.dev) and chrome://tracing.

References
----------
Trace Event Format: complete events (``X``) with times in microseconds, and names (``M``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.atomic_file import write_atomic
from engine.report.tracks import heading, tracks
from placement.timeline import Span, Timeline


def write_trace(path: Path, timelines: Mapping[str, Timeline]) -> None:
    """Write timelines, each as a process of its own under its key, into one file."""
    write_atomic(Path(path), json.dumps(to_trace(timelines), separators=(",", ":")).encode())


def to_trace(timelines: Mapping[str, Timeline]) -> dict[str, Any]:
    """Make the trace: a process per timeline, a thread per lane and link; deterministic."""
    events: list[dict[str, Any]] = []
    for process, (name, timeline) in enumerate(timelines.items(), 1):
        events.append(_name("process_name", process, 0, f"{name}: {heading(timeline)}"))
        events.append(_order("process_sort_index", process, 0, process))
        for thread, (label, spans) in enumerate(tracks(timeline), 1):
            events.append(_name("thread_name", process, thread, label))
            events.append(_order("thread_sort_index", process, thread, thread))
            events += [_complete(span, process, thread) for span in spans]
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _complete(span: Span, process: int, thread: int) -> dict[str, Any]:
    return {
        "name": span.name,
        "cat": span.category,
        "ph": "X",
        "ts": span.start_ns / 1e3,
        "dur": span.duration_ns / 1e3,
        "pid": process,
        "tid": thread,
        "args": {
            "kind": span.kind.value,
            "index": span.index,
            "query": span.query,
            "ready_us": span.ready_ns / 1e3,
            "queueing_us": span.queueing_ns / 1e3,
            "lanes": list(span.lanes),
        },
    }


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _order(what: str, process: int, thread: int, index: int) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"sort_index": index}}
