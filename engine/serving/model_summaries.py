"""What became of each model's queries since the start: what the status page shows beside rates."""

from __future__ import annotations

import math
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.for_clients import without_paths
from surplus.engine.serving.histogram import Histogram
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.trouble import Trouble
from surplus.engine.version import version

_PERCENTILES = (50, 95, 99)


def server_summary(plane: DataPlane) -> dict[str, Any]:
    """The server, its memory, its workers and its models. On its event loop."""
    account = _core.process_memory()
    held, resident = account.held_bytes, resident_bytes()
    return {
        "version": version(),
        "now_ns": plane.clock_ns(),
        "ready": plane.ready,
        "in_flight": plane.in_flight,
        "memory": {
            "queries_bytes": held,
            "rest_bytes": max(0, resident - held),
            "limit_bytes": account.limit_bytes,
            "refused": account.refused,
        },
        "workers": [
            {
                "name": worker.name,
                "process": worker.process,
                "starts": worker.starts,
                "resident_bytes": resident_bytes(worker.process),
            }
            for worker in plane.workers()
        ],
        "models": [_model(model) for model in plane.models],
    }


def _model(model: ServedModel) -> dict[str, Any]:
    counters, trouble, times = model.statistics, model.trouble, model.times
    return {
        "name": model.name,
        "version": model.version,
        "state": model.state.value,
        "reason": without_paths(model.reason),
        "in_flight": model.in_flight,
        "answered": counters.success.count,
        "calls": model.calls,
        "trouble": {kind.value: trouble.get(kind, 0) for kind in Trouble},
        "duration_s": _percentiles(times.whole),
        "queue_s": _percentiles(times.queue),
        "compute_s": _percentiles(times.compute),
    }


def _percentiles(histogram: Histogram) -> dict[str, float | None]:
    """Upper bounds of their buckets; null without queries, and beyond the last bound."""
    found = {f"p{percent}": histogram.percentile_s(percent) for percent in _PERCENTILES}
    return {
        name: None if value is None or math.isinf(value) else value for name, value in found.items()
    }
