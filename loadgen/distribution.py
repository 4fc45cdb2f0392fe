"""The shape of one run: its percentiles finely, and what happened when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.record import Records
from surplus.loadgen.stats import percentiles

_PARTS_OF_TIME = 60
_HALVINGS = 24
_PER_HALVING = 8


def percentile_curve(records: Records) -> list[tuple[float, int]]:
    """Pairs of percent and latency in nanoseconds, ever finer towards 100 %, as HdrHistogram's.

    Of the measured queries that succeeded; empty if none did. Percentiles are nearest-rank.
    """
    rows = records.measured()
    latencies = np.sort((rows.done_ns - rows.intended_ns)[rows.kind == 0])
    if not len(latencies):
        return []
    beyond = 0.5 ** (np.arange(_HALVINGS * _PER_HALVING) / _PER_HALVING)
    percents = 100 * (1 - beyond[beyond * len(latencies) >= 1])
    ranks = np.maximum(1, np.ceil(percents * len(latencies) / 100 - 1e-9)).astype(np.int64)
    curve = list(zip(percents.tolist(), latencies[ranks - 1].tolist(), strict=True))
    return [*curve, (100.0, int(latencies[-1]))]


def time_parts(records: Records) -> list[dict[str, Any]]:
    """What happened in each sixtieth of the measured part.

    Each has ``start_ns`` from its beginning, and of the queries that were meant to leave then how
    many succeeded and failed a second, and the percentiles of those that succeeded (None if none).
    """
    rows = records.measured()
    if not len(rows):
        return []
    start_ns, end_ns = int(rows.intended_ns.min()), int(rows.intended_ns.max()) + 1
    edges = np.linspace(start_ns, end_ns, _PARTS_OF_TIME + 1)
    part_s = (end_ns - start_ns) / _PARTS_OF_TIME / NS_PER_S
    places = np.clip(np.searchsorted(edges, rows.intended_ns, "right") - 1, 0, _PARTS_OF_TIME - 1)
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(_PARTS_OF_TIME + 1))
    latencies = (rows.done_ns - rows.intended_ns)[order]
    is_ok = rows.kind[order] == 0
    parts = []
    for number in range(_PARTS_OF_TIME):
        own = slice(bounds[number], bounds[number + 1])
        ok = latencies[own][is_ok[own]]
        failed = int((~is_ok[own]).sum())
        part = {"start_ns": round(edges[number]) - start_ns, "succeeded_per_s": len(ok) / part_s}
        parts.append(part | {"failed_per_s": failed / part_s} | _percentiles(ok))
    return parts


def _percentiles(latencies_ns: NDArray[np.int64]) -> dict[str, int | None]:
    if not len(latencies_ns):
        return {"p50_ns": None, "p99_ns": None}
    p50, p99 = percentiles(latencies_ns, (50, 99))
    return {"p50_ns": p50, "p99_ns": p99}
