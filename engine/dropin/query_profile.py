"""The profile of a session: what its queries' segments took, in a file like ONNX Runtime's."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.placement.timeline import Timeline

_MOST_EVENTS = 1_000_000
"""As ONNX Runtime: later ones are not kept."""


class QueryProfile:
    """Events of queries, until it is written. Thread-safe.

    Parameters
    ----------
    prefix : str
        What the file's path begins with; the time when it began follows.
    """

    def __init__(self, prefix: str) -> None:
        self.began_ns = time.monotonic_ns()
        moment = datetime.now().strftime("%Y-%m-%d_%H-%M-%S_%f")[:-3]
        self._path = Path(f"{prefix}_{moment}.json")
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []

    def add(self, submitted_ns: int, ended_ns: int, timeline: Timeline) -> None:
        """Keep a query: an event for all of it, and one a segment or copy."""
        events = [self._event("Session", "model_run", submitted_ns, ended_ns - submitted_ns, {})]
        for span in timeline:
            details = {"kind": span.kind.value, "resource": span.resource, "lanes": [*span.lanes]}
            start_ns = submitted_ns + span.start_ns
            events.append(self._event("Node", span.name, start_ns, span.duration_ns, details))
        with self._lock:
            if len(self._events) < _MOST_EVENTS:
                self._events += events

    def write(self) -> str:
        """Write what was kept; the file's path."""
        with self._lock:
            rows = ",\n".join(json.dumps(event) for event in self._events)
            write_atomic(self._path, f"[\n{rows}\n]\n".encode())
        return str(self._path)

    def _event(
        self, category: str, name: str, start_ns: int, duration_ns: int, details: dict[str, Any]
    ) -> dict[str, Any]:
        """Times in microseconds since the profile began."""
        return {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "ts": (start_ns - self.began_ns) // 1000,
            "dur": duration_ns // 1000,
            "ph": "X",
            "name": name,
            "args": details,
        }
